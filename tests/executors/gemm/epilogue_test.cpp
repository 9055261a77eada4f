// Ops that follow a GEMM and are fused into it as an epilogue.
#include "executors/fuser/fused.h"
#include "executors/gemm/cost_model.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr int64_t rows = 1024, features = 256, columns = 272;

/// Compares norms: single elements of bf16 differ by rounding.
void expect_relative(const Tensor& actual, const Tensor& expected, double tolerance) {
  const NoGrad no_grad;
  const auto norm = [](const Tensor& t) { return sqrt(sum(square(t))).item<double>(); };
  const Tensor wanted = expected.to(Dtype::f64);
  expect_equal(actual.shape().text(), expected.shape().text());
  const double error = norm(actual.to(Dtype::f64) - wanted) / norm(wanted);
  if (!expect_less(error, tolerance)) std::printf("  a relative error of %g\n", error);
}

}  // namespace

TEST("an activation is computed in the GEMM before it, and the values for a backward are stored too") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  manual_seed(5);
  const auto layer = [](Tensor x, Tensor weight, Tensor bias) {
    const AutocastScope scope(Dtype::bf16);
    return nn::gelu(nn::linear(x, weight, bias), "tanh");
  };
  Tensor x = randn({4, rows / 4, features}).to(Dtype::bf16).requires_grad_(),
         weight = (randn({columns, features}) * 0.1).requires_grad_(), bias = randn({columns});
  const auto f = jit(layer);
  const Tensor result = f(x, weight, bias), expected = layer(x, weight, bias);
  expect_close(result.detach(), expected.detach(), 0.02);
  expect_text(print(last_traces(f).back(), {.time = false, .source = false}), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

// Run by gemm with this kernel:
//   extern "C" void pack_f32_as_bf16(const GemmLaunch& launch, long first, long last) {
//     pack_right<float, BFloat16>(launch, first, last);
//   }
//   extern "C" void multiply_bf16_add_f32_gelu_to_2_bf16(const GemmLaunch& launch, long first, long last) {
//     multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
//       const Floats bias = round_to_bfloat16(load(at.of<const float>(launch, 2), at));
//       const Floats linear = round_to_bfloat16(sums + bias);
//       const Floats gelu_ = gelu_tanh(linear);
//       store(at.of<BFloat16>(launch, 0), at, linear);
//       store(at.of<BFloat16>(launch, 1), at, gelu_);
//     });
//   }
static auto fusion0(Tensor t_0, Tensor t_1, Tensor t_2) {
  auto t36 = prims::convert_element_type(t_1, Dtype::bf16);
  auto t37 = prims::convert_element_type(t_2, Dtype::bf16);
  auto t2 = nn::linear(t_0, t36, t37);
  auto t11 = nn::gelu(t2, "tanh");
  return std::tuple(t2, t11);
}

AugmentedForward augmented_forward_fn(Tensor t_0, Tensor t_1, Tensor t_2) {
  // t_0: "cpu bf16[4, 256, 256]"
  // t_1: "cpu f32[272, 256]"
  // t_2: "cpu f32[272]"
  auto [t2, t11] = fusion0(t_0, t_1, t_2);
    // t36 = prims::convert_element_type(t_1, Dtype::bf16)  // t36: "cpu bf16[272, 256]"
    // t37 = prims::convert_element_type(t_2, Dtype::bf16)  // t37: "cpu bf16[272]"
    // t2 = prims::linear(t_0, t36, t37)  // t2: "cpu bf16[4, 256, 272]"
    // t11 = nn::gelu(t2, "tanh")  // t11: "cpu bf16[4, 256, 272]"
      // t3 = prims::mul(t2, t2)  // t3: "cpu bf16[4, 256, 272]"
      // t4 = prims::mul(t3, t2)  // t4: "cpu bf16[4, 256, 272]"
      // t5 = prims::mul(t4, 0.044715)  // t5: "cpu bf16[4, 256, 272]"
      // t6 = prims::add(t2, t5)  // t6: "cpu bf16[4, 256, 272]"
      // t7 = prims::mul(t6, 0.7978845608028654)  // t7: "cpu bf16[4, 256, 272]"
      // t8 = prims::tanh(t7)  // t8: "cpu bf16[4, 256, 272]"
      // t9 = prims::mul(t2, 0.5)  // t9: "cpu bf16[4, 256, 272]"
      // t10 = prims::add(t8, 1)  // t10: "cpu bf16[4, 256, 272]"
      // t11 = prims::mul(t9, t10)  // t11: "cpu bf16[4, 256, 272]"
  return {.output = {t11}, .saved_for_backward = {{t2, t_1, t_0}, {}}};
}
)");
  const NoGrad no_grad;
  f(x, weight, bias);
  expect_text(kernel_of(last_traces(f).back(), 0), R"(
extern "C" void pack_f32_as_bf16(const GemmLaunch& launch, long first, long last) {
  pack_right<float, BFloat16>(launch, first, last);
}
extern "C" void multiply_bf16_add_f32_gelu_to_bf16(const GemmLaunch& launch, long first, long last) {
  multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
    const Floats bias = round_to_bfloat16(load(at.of<const float>(launch, 1), at));
    const Floats linear = round_to_bfloat16(sums + bias);
    const Floats gelu_ = gelu_tanh(linear);
    store(at.of<BFloat16>(launch, 0), at, gelu_);
  });
}
)");
}

TEST("an activation's gradient is computed in the GEMM that makes its cotangent, with recomputed values") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  manual_seed(6);
  const auto network = [](Tensor x, Tensor first, Tensor bias, Tensor second) {
    const AutocastScope scope(Dtype::bf16);
    return nn::linear(nn::gelu(nn::linear(x, first, bias)), second);
  };
  std::vector<Tensor> leaves{randn({rows, features}).to(Dtype::bf16), randn({rows, features}) * 0.1, randn({rows}),
                             randn({rows, rows}) * 0.1};
  const Tensor cotangent = randn({rows, rows}).to(Dtype::bf16);
  const auto gradients_of = [&](auto&& function) {
    for (Tensor& leaf : leaves) {
      leaf.requires_grad_();
      leaf.set_grad({});
    }
    function(leaves[0], leaves[1], leaves[2], leaves[3]).backward(cotangent);
    std::vector<Tensor> gradients;
    for (const Tensor& leaf : leaves) gradients.push_back(leaf.grad());
    return gradients;
  };
  const auto f = jit(network);
  const std::vector<Tensor> jitted = gradients_of(f), eager = gradients_of(network);
  for (size_t i = 0; i < leaves.size(); ++i) expect_relative(jitted[i], eager[i], 0.01);
  const Trace last = last_backward_traces(f).back();
  expect_text(print(last, {.time = false, .source = false}), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

// Run by gemm with this kernel:
//   extern "C" void pack_f32_as_bf16(const GemmLaunch& launch, long first, long last) {
//     pack_right<float, BFloat16>(launch, first, last);
//   }
//   extern "C" void multiply_bf16_gelu_gelu_backward_to_2_bf16(const GemmLaunch& launch, long first, long last) {
//     multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
//       const Floats matmul = round_to_bfloat16(sums);
//       const Floats other = load(at.of<const BFloat16>(launch, 2), at);
//       const Floats gelu_ = gelu(other);
//       const Floats gelu_backward_ = gelu_backward(matmul, other);
//       store(at.of<BFloat16>(launch, 0), at, gelu_);
//       store(at.of<BFloat16>(launch, 1), at, gelu_backward_);
//     });
//   }
static auto fusion2(Tensor t10, Tensor t_3, Tensor t2) {
  auto t36 = prims::convert_element_type(t_3, Dtype::bf16);
  auto t11 = matmul(t10, t36);
  auto t7 = nn::gelu(t2);
  auto t27 = prims::gelu_backward(t11, t2, "none");
  return std::tuple(t7, t27);
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
static auto fusion3(Tensor t13, Tensor t14) {
  auto t15 = matmul(t13, t14);
  auto t16 = prims::convert_element_type(t15, Dtype::f32);
  return std::tuple(t16);
}

// Run by gemm with this kernel:
//   extern "C" void pack_f32_as_bf16(const GemmLaunch& launch, long first, long last) {
//     pack_right<float, BFloat16>(launch, first, last);
//   }
//   extern "C" void multiply_bf16_to_bf16(const GemmLaunch& launch, long first, long last) {
//     multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
//       store(at.of<BFloat16>(launch, 0), at, sums);
//     });
//   }
static auto fusion4(Tensor t27, Tensor t_1) {
  auto t37 = prims::convert_element_type(t_1, Dtype::bf16);
  auto t28 = matmul(t27, t37);
  return std::tuple(t28);
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
static auto fusion5(Tensor t30, Tensor t31) {
  auto t32 = matmul(t30, t31);
  auto t35 = prims::convert_element_type(t32, Dtype::f32);
  return std::tuple(t35);
}

std::vector<Tensor> backward_fn(SavedForBackward saved_for_backward, std::vector<Tensor> cotangents) {
  // saved_for_backward: "Collection"
  // cotangents: "Collection"
  auto [C0, C1] = saved_for_backward;
  clear_collection(saved_for_backward);
  del(saved_for_backward);
  Tensor t10 = cotangents[0];
  clear_collection(cotangents);
  del(cotangents);
  Tensor t_3 = C0[0];
  Tensor t2 = C0[1];
  Tensor t_1 = C0[2];
  Tensor t_0 = C0[3];
  clear_collection(C0);
  del(C0);
  auto t12 = reshape(t10, {-1, 1024});  // t12: "cpu bf16[1024, 1024]"
  auto t13 = permute(t12, {1, 0});  // t13: "cpu bf16[1024, 1024]"
  del(t12);
  auto [t7, t27] = fusion2(t10, t_3, t2);
    // t36 = prims::convert_element_type(t_3, Dtype::bf16)  // t36: "cpu bf16[1024, 1024]"
    // t11 = prims::matmul(t10, t36)  // t11: "cpu bf16[1024, 1024]"
    // t7 = nn::gelu(t2)  // t7: "cpu bf16[1024, 1024]"
      // t3 = prims::mul(t2, 0.7071067811865476)  // t3: "cpu bf16[1024, 1024]"
      // t4 = prims::erf(t3)  // t4: "cpu bf16[1024, 1024]"
      // t5 = prims::mul(t2, 0.5)  // t5: "cpu bf16[1024, 1024]"
      // t6 = prims::add(t4, 1)  // t6: "cpu bf16[1024, 1024]"
      // t7 = prims::mul(t5, t6)  // t7: "cpu bf16[1024, 1024]"
    // t27 = prims::gelu_backward(t11, t2, "none")  // t27: "cpu bf16[1024, 1024]"
      // t17 = prims::mul(t2, 0.7071067811865476)  // t17: "cpu bf16[1024, 1024]"
      // t18 = prims::erf(t17)  // t18: "cpu bf16[1024, 1024]"
      // t19 = prims::add(t18, 1)  // t19: "cpu bf16[1024, 1024]"
      // t20 = prims::mul(t19, 0.5)  // t20: "cpu bf16[1024, 1024]"
      // t21 = prims::mul(t2, t2)  // t21: "cpu bf16[1024, 1024]"
      // t22 = prims::mul(t21, -0.5)  // t22: "cpu bf16[1024, 1024]"
      // t23 = prims::exp(t22)  // t23: "cpu bf16[1024, 1024]"
      // t24 = prims::mul(t23, 0.3989422804014327)  // t24: "cpu bf16[1024, 1024]"
      // t25 = prims::mul(t2, t24)  // t25: "cpu bf16[1024, 1024]"
      // t26 = prims::add(t20, t25)  // t26: "cpu bf16[1024, 1024]"
      // t27 = prims::mul(t11, t26)  // t27: "cpu bf16[1024, 1024]"
  del(t10, t_3, t2);
  auto t14 = reshape(t7, {-1, 1024});  // t14: "cpu bf16[1024, 1024]"
  del(t7);
  auto [t16] = fusion3(t13, t14);
    // t15 = prims::matmul(t13, t14)  // t15: "cpu bf16[1024, 1024]"
    // t16 = prims::convert_element_type(t15, Dtype::f32)  // t16: "cpu f32[1024, 1024]"
  del(t13, t14);
  auto [t28] = fusion4(t27, t_1);
    // t37 = prims::convert_element_type(t_1, Dtype::bf16)  // t37: "cpu bf16[1024, 256]"
    // t28 = prims::matmul(t27, t37)  // t28: "cpu bf16[1024, 256]"
  del(t_1);
  auto t29 = reshape(t27, {-1, 1024});  // t29: "cpu bf16[1024, 1024]"
  del(t27);
  auto t30 = permute(t29, {1, 0});  // t30: "cpu bf16[1024, 1024]"
  auto t33 = sum(t29, {0});  // t33: "cpu bf16[1024]"
  del(t29);
  auto t34 = prims::convert_element_type(t33, Dtype::f32);  // t34: "cpu f32[1024]"
  del(t33);
  auto t31 = reshape(t_0, {-1, 256});  // t31: "cpu bf16[1024, 256]"
  del(t_0);
  auto [t35] = fusion5(t30, t31);
    // t32 = prims::matmul(t30, t31)  // t32: "cpu bf16[1024, 256]"
    // t35 = prims::convert_element_type(t32, Dtype::f32)  // t35: "cpu f32[1024, 256]"
  del(t30, t31);
  return {t28, t35, t34, t16};
}
)");
}

TEST("values computed from a GEMM and from other ops are read and stored by its epilogue") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  manual_seed(7);
  const NoGrad no_grad;
  const auto gated = [](Tensor x, Tensor gate, Tensor up) {
    const Tensor opened = matmul(x, gate);
    return nn::silu(opened) * matmul(x, up);
  };
  const auto scaled = [](Tensor x, Tensor weight, Tensor other, Tensor row) {
    return where(other > 0.0, matmul(x, weight) * row, other - 1.0);
  };
  const Tensor x = randn({rows, features}).to(Dtype::bf16), gate = (randn({features, columns}) * 0.1).to(Dtype::bf16),
               up = (randn({features, columns}) * 0.1).to(Dtype::bf16);
  const auto f = jit(gated);
  expect_relative(f(x, gate, up), gated(x, gate, up), 0.01);
  expect_text(kernel_of(last_traces(f).back(), 1), R"(
extern "C" void pack_bf16(const GemmLaunch& launch, long first, long last) {
  pack_right<BFloat16, BFloat16>(launch, first, last);
}
extern "C" void multiply_bf16_silu_mul_to_bf16(const GemmLaunch& launch, long first, long last) {
  multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
    const Floats matmul = round_to_bfloat16(sums);
    const Floats silu_ = round_to_bfloat16(silu(matmul));
    const Floats other = load(at.of<const BFloat16>(launch, 1), at);
    const Floats mul = silu_ * other;
    store(at.of<BFloat16>(launch, 0), at, mul);
  });
}
)");
  const auto masked = [](Tensor x, Tensor weight, Tensor mask) {
    return (matmul(x, weight) * 2.0).masked_fill(mask, 0.5);
  };
  const auto h = jit(masked);
  for (const Tensor& mask :
       {randn({rows, columns}) > 0.0, transpose(randn({columns, rows}) > 0.0, 0, 1), randn({columns}) > 0.0})
    expect_relative(h(x, gate, mask), masked(x, gate, mask), 0.01);
  expect_text(kernel_of(last_traces(h).back(), 0), R"(
extern "C" void pack_bf16(const GemmLaunch& launch, long first, long last) {
  pack_right<BFloat16, BFloat16>(launch, first, last);
}
extern "C" void multiply_bf16_mul_masked_fill_to_bf16(const GemmLaunch& launch, long first, long last) {
  multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
    const Floats matmul = round_to_bfloat16(sums);
    const Floats mul = matmul * 2.0f;
    const Ints row = load(at.of<const Boolean>(launch, 1), at);
    const Floats masked_fill = select(row, Floats(0.5f), mul);
    store(at.of<BFloat16>(launch, 0), at, masked_fill);
  });
}
)");
  // Others have any strides; a row may have one scalar for all.
  const Tensor wide = randn({columns, 2 * rows}).to(Dtype::bf16), tall = randn({2 * rows, 3 * columns});
  const auto g = jit(scaled);
  const auto every = [](const Tensor& t, int64_t dim, int64_t step) {
    return prims::slice(t, dim, 0, t.size(dim), step);
  };
  const std::vector<Tensor> others{every(transpose(wide, 0, 1), 0, 2), randn({rows, columns}).to(Dtype::bf16),
                                   every(every(tall, 0, 2), 1, 3), randn({1, columns}).expand({rows, columns})};
  const std::vector<Tensor> all_rows{randn({columns}), randn({1, columns}).to(Dtype::bf16),
                                     select(randn({columns, 2}), 1, 1), randn({1}).expand({columns})};
  for (const Tensor& other : others)
    for (const Tensor& row : all_rows) expect_relative(g(x, gate, other, row), scaled(x, gate, other, row), 0.01);
  expect_text(kernel_of(last_traces(g).back(), 0), R"(
extern "C" void pack_bf16(const GemmLaunch& launch, long first, long last) {
  pack_right<BFloat16, BFloat16>(launch, first, last);
}
extern "C" void multiply_bf16_gt_mul_sub_where_to_f32(const GemmLaunch& launch, long first, long last) {
  multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
    const Floats matmul = round_to_bfloat16(sums);
    const Floats other = load(at.of<const float>(launch, 1), at);
    const Ints gt = other > 0.0f;
    const Floats row = load(at.of<const float>(launch, 2), at);
    const Floats mul = matmul * row;
    const Floats sub = other - 1.0f;
    const Floats where = select(gt, mul, sub);
    store(at.of<float>(launch, 0), at, where);
  });
}
)");
}

TEST("an epilogue has no op that depends on another GEMM, and none that is unprofitable") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  manual_seed(8);
  const NoGrad no_grad;
  const Tensor x = randn({rows, features}).to(Dtype::bf16), a = (randn({features, columns}) * 0.1).to(Dtype::bf16),
               b = (randn({features, columns}) * 0.1).to(Dtype::bf16);
  // Each GEMM could fuse the op that reads both; together they would wait for one another.
  const auto crossed = [](Tensor x, Tensor a, Tensor b) {
    const Tensor first = matmul(x, a), second = matmul(x, b);
    const Tensor joined = first * second;
    return std::tuple(nn::silu(joined) * second, nn::gelu(joined) * first);
  };
  const auto f = jit(crossed);
  const auto [left, right] = f(x, a, b);
  const auto [expected_left, expected_right] = crossed(x, a, b);
  expect_relative(left, expected_left, 0.02);
  expect_relative(right, expected_right, 0.02);
  expect_equal(fusions_in(last_traces(f).back()), 2);
  // A sum that a norm reads is made where the norm is.
  const auto residual = [](Tensor x, Tensor a, Tensor other, Tensor weight) {
    const Tensor sum = other + matmul(x, a);
    return std::tuple(sum, nn::layer_norm(sum, {columns}, weight));
  };
  const auto g = jit(residual);
  const Tensor other = randn({rows, columns}), weight = randn({columns});
  const auto [sum, normal] = g(x, a, other, weight);
  const auto [expected_sum, expected_normal] = residual(x, a, other, weight);
  expect_relative(sum, expected_sum, 0.01);
  expect_relative(normal, expected_normal, 0.01);
  expect_text(kernel_of(last_traces(g).back(), 0), R"(
extern "C" void pack_bf16(const GemmLaunch& launch, long first, long last) {
  pack_right<BFloat16, BFloat16>(launch, first, last);
}
extern "C" void multiply_bf16_to_bf16(const GemmLaunch& launch, long first, long last) {
  multiply_blocks<BFloat16, BFloat16>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
    store(at.of<BFloat16>(launch, 0), at, sums);
  });
}
)");
}
