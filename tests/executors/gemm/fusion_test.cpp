// Ops of a trace that the executor `gemm` claims, and how the trace prints them.
#include "executors/fuser/fused.h"
#include "executors/gemm/cost_model.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr int64_t rows = 1024, features = 256, columns = 272;

Tensor layer(Tensor x, Tensor weight, Tensor bias) { return nn::linear(x, weight, bias); }

auto with_autocast(Tensor (*function)(Tensor, Tensor, Tensor)) {
  return [function](Tensor x, Tensor weight, Tensor bias) {
    const AutocastScope scope(Dtype::bf16);
    return function(x, weight, bias);
  };
}

std::string text_of(const Trace& trace) { return print(trace, {.time = false, .source = false}); }

int lines_of(const Trace& trace, std::string_view executor) {
  int count = 0;
  for (const BoundSymbol& bound : trace.bound_symbols)
    count += bound.implementation && bound.implementation->executor == executor;
  return count;
}

}  // namespace

TEST("kernel_source shows a GEMM in scalar form, and its IR") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  const auto f = jit(with_autocast(layer));
  f(randn({4, rows / 4, features}).to(Dtype::bf16), randn({columns, features}), randn({columns}));
  expect_equal(examine::fusion_names(f), std::vector<std::string>{"fusion0"});
  const auto source_has = [&](examine::KernelForm form, const char* text) {
    return examine::kernel_source(f, "fusion0", form).find(text) != std::string::npos;
  };
  expect(source_has(examine::KernelForm::compiled, "multiply_blocks<BFloat16, BFloat16>"));
  expect(source_has(examine::KernelForm::scalar, "void fusion0(const GemmLaunch& launch, long first, long last) {"));
  expect(source_has(examine::KernelForm::ir, "right: f32, rounded to bf16\n"));
}

TEST("a GEMM under autocast reads the layer's f32 weight and bias") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  manual_seed(5);
  const Tensor x = randn({4, rows / 4, features}).to(Dtype::bf16), weight = randn({columns, features}) * 0.1,
               bias = randn({columns});
  const auto f = jit(with_autocast(layer));
  const Tensor result = f(x, weight, bias);
  expect_close(result, with_autocast(layer)(x, weight, bias), 0.02);
  const Trace last = last_traces(f).back();
  expect_equal(lines_of(last, "gemm"), 1);
  expect_text(text_of(last), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

// Run by gemm with this kernel:
//   extern "C" void pack_f32_as_bf16(const GemmLaunch& launch, long first, long last) {
//     pack_right<float, BFloat16>(launch, first, last);
//   }
//   extern "C" void multiply_bf16_add_f32_to_bf16(const GemmLaunch& launch, long first, long last) {
//     multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
//       const Floats bias = round_to_bfloat16(load(at.of<const float>(launch, 1), at));
//       store(at.of<BFloat16>(launch, 0), at, sums + bias);
//     });
//   }
static auto fusion0(Tensor t_0, Tensor t_1, Tensor t_2) {
  auto t3 = prims::convert_element_type(t_1, Dtype::bf16);
  auto t4 = prims::convert_element_type(t_2, Dtype::bf16);
  auto t2 = nn::linear(t_0, t3, t4);
  return std::tuple(t2);
}

Tensor computation(Tensor t_0, Tensor t_1, Tensor t_2) {
  // t_0: "cpu bf16[4, 256, 256]"
  // t_1: "cpu f32[272, 256]"
  // t_2: "cpu f32[272]"
  auto [t2] = fusion0(t_0, t_1, t_2);
    // t3 = prims::convert_element_type(t_1, Dtype::bf16)  // t3: "cpu bf16[272, 256]"
    // t4 = prims::convert_element_type(t_2, Dtype::bf16)  // t4: "cpu bf16[272]"
    // t2 = prims::linear(t_0, t3, t4)  // t2: "cpu bf16[4, 256, 272]"
  del(t_0, t_1, t_2);
  return t2;
}
)");
}

TEST("both matmuls of the backward are claimed, and the gradient of an f32 weight is not rounded") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  manual_seed(6);
  Tensor x = randn({4, rows / 4, features}).to(Dtype::bf16), weight = randn({rows, features}) * 0.1,
         bias = randn({rows});
  const Tensor gradient = randn({4, rows / 4, rows}).to(Dtype::bf16);
  const auto run = [&](auto&& function) {
    for (Tensor* t : {&x, &weight, &bias}) {
      t->requires_grad_();
      t->set_grad({});
    }
    function(x, weight, bias).backward(gradient);
    return std::vector<Tensor>{x.grad(), weight.grad(), bias.grad()};
  };
  const auto f = jit(with_autocast(layer));
  const std::vector<Tensor> jitted = run(f), eager = run(with_autocast(layer));
  for (size_t i = 0; i < jitted.size(); ++i) expect_close(jitted[i], eager[i], i == 1 ? 0.3 : 0.05);
  const Trace last = last_backward_traces(f).back();
  expect_equal(lines_of(last, "gemm"), 2);
  expect_text(text_of(last), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

// Run by gemm with this kernel:
//   extern "C" void pack_f32_as_bf16(const GemmLaunch& launch, long first, long last) {
//     pack_right<float, BFloat16>(launch, first, last);
//   }
//   extern "C" void multiply_bf16_to_bf16(const GemmLaunch& launch, long first, long last) {
//     multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
//       store(at.of<BFloat16>(launch, 0), at, sums);
//     });
//   }
static auto fusion1(Tensor t3, Tensor t_1) {
  auto t12 = prims::convert_element_type(t_1, Dtype::bf16);
  auto t4 = matmul(t3, t12);
  return std::tuple(t4);
}

// Run by gemm with this kernel:
//   extern "C" void pack_bf16(const GemmLaunch& launch, long first, long last) {
//     pack_right<BFloat16, BFloat16>(launch, first, last);
//   }
//   extern "C" void multiply_bf16_to_f32(const GemmLaunch& launch, long first, long last) {
//     multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
//       store(at.of<float>(launch, 0), at, round_to_bfloat16(sums));
//     });
//   }
static auto fusion2(Tensor t6, Tensor t7) {
  auto t8 = matmul(t6, t7);
  auto t11 = prims::convert_element_type(t8, Dtype::f32);
  return std::tuple(t11);
}

std::vector<Tensor> backward_fn(SavedForBackward saved_for_backward, std::vector<Tensor> cotangents) {
  // saved_for_backward: "Collection"
  // cotangents: "Collection"
  auto [C0, C1] = saved_for_backward;
  clear_collection(saved_for_backward);
  del(saved_for_backward);
  Tensor t3 = cotangents[0];
  clear_collection(cotangents);
  del(cotangents);
  Tensor t_1 = C0[0];
  Tensor t_0 = C0[1];
  clear_collection(C0);
  del(C0);
  auto [t4] = fusion1(t3, t_1);
    // t12 = prims::convert_element_type(t_1, Dtype::bf16)  // t12: "cpu bf16[1024, 256]"
    // t4 = prims::matmul(t3, t12)  // t4: "cpu bf16[4, 256, 256]"
  del(t_1);
  auto t5 = reshape(t3, {-1, 1024});  // t5: "cpu bf16[1024, 1024]"
  del(t3);
  auto t6 = permute(t5, {1, 0});  // t6: "cpu bf16[1024, 1024]"
  auto t9 = sum(t5, {0});  // t9: "cpu bf16[1024]"
  del(t5);
  auto t10 = prims::convert_element_type(t9, Dtype::f32);  // t10: "cpu f32[1024]"
  del(t9);
  auto t7 = reshape(t_0, {-1, 256});  // t7: "cpu bf16[1024, 256]"
  del(t_0);
  auto [t11] = fusion2(t6, t7);
    // t8 = prims::matmul(t6, t7)  // t8: "cpu bf16[1024, 256]"
    // t11 = prims::convert_element_type(t8, Dtype::f32)  // t11: "cpu f32[1024, 256]"
  del(t6, t7);
  return {t4, t11, t10};
}
)");
}

TEST("small matmuls, and those of dtypes for which oneDNN is faster on this CPU, are not claimed") {
  const NoGrad no_grad;
  const auto f = jit([](Tensor a, Tensor b) { return matmul(a, b); });
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::f32, Dtype::f64}) {
    f(randn({32, 32}).to(dtype), randn({32, 32}).to(dtype));
    expect_equal(lines_of(last_traces(f).back(), "gemm"), 0);
    const Tensor a = (randn({1024, 512}) * 0.1).to(dtype), b = (randn({512, 512}) * 0.1).to(dtype);
    expect_close(f(a, b), matmul(a, b), dtype == Dtype::bf16 ? 0.02 : 1e-3);
    expect_equal(lines_of(last_traces(f).back(), "gemm"), fused_gemm::is_profitable_on_this_cpu(dtype) ? 1 : 0);
  }
}

TEST("a layer of f32 is a GEMM with its bias if that is profitable") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::f32)) return;
  manual_seed(7);
  const NoGrad no_grad;
  const Tensor x = randn({4, rows / 4, features}), weight = randn({columns, features}) * 0.1, bias = randn({columns});
  const auto f = jit(layer);
  expect_close(f(x, weight, bias), layer(x, weight, bias), 1e-4);
  expect_text(kernel_of(last_traces(f).back(), 0), R"(
extern "C" void pack_f32(const GemmLaunch& launch, long first, long last) {
  pack_right<float, float>(launch, first, last);
}
extern "C" void multiply_f32_add_f32_to_f32(const GemmLaunch& launch, long first, long last) {
  multiply_blocks<float, float>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
    const Floats bias = load(at.of<const float>(launch, 1), at);
    store(at.of<float>(launch, 0), at, sums + bias);
  });
}
)");
}

TEST("a GEMM reads a copy of rows that have no common stride") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  const NoGrad no_grad;
  const Tensor x = transpose(randn({8, 200, 6, 64}).to(Dtype::bf16), 1, 2),
               weight = randn({64 * 6, 256}).to(Dtype::bf16);
  const Tensor y = narrow(x, 2, 3, 190).reshape({8, 190, 384});
  const auto f = jit([](Tensor a, Tensor b) { return matmul(narrow(a, 1, 1, 180), b); });
  expect_close(f(y, weight), matmul(narrow(y, 1, 1, 180), weight), 0.05);
  expect_equal(lines_of(last_traces(f).back(), "gemm"), 1);
}
