// Fusions of pointwise operators: their ops, their printed form, and their results.
#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor scaled_gelu(Tensor x, Tensor w, Tensor b) {
  const Tensor scaled = x * w;
  const Tensor shifted = scaled + b;
  return gelu(shifted);
}

}  // namespace

TEST("pointwise operators become one kernel") {
  manual_seed(1);
  const Tensor x = randn({5, 37}), w = randn({37}), b = randn({37});
  auto f = jit(scaled_gelu, {.executors = {"onednn", "fuser"}});
  expect_close(f(x, w, b), scaled_gelu(x, w, b));
  expect_equal(fusions_in(last_traces(f).back()), 1);
  expect_trace(last_traces(f).back(), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

// Run by this kernel:
//   extern "C" void fusion0(const Launch& launch, long first, long last) {
//     for (Row row(launch, first); first < last; row.next(), ++first) {
//       const auto* const t_0_row = row.of<const float>(0);
//       const auto* const t_1_row = row.of<const float>(1);
//       const auto* const t_2_row = row.of<const float>(2);
//       const auto t6_row = row.result<float>(3);
//       for (Columns c(launch); c.more(); c.next()) {
//         const Floats t_0 = load(t_0_row, c);
//         const Floats t_1 = load(t_1_row, c);
//         const Floats t_2 = load(t_2_row, c);
//         const Floats t0 = t_0 * t_1;
//         const Floats t1 = t0 + t_2;
//         const Floats t6 = gelu(t1);
//         store(t6_row, c, t6);
//       }
//     }
//   }
static auto fusion0(Tensor t_0, Tensor t_1, Tensor t_2) {
  auto t0 = mul(t_0, t_1);
  auto t1 = add(t0, t_2);
  auto t6 = nn::gelu(t1);
  return std::tuple(t6);
}

Tensor computation(Tensor t_0, Tensor t_1, Tensor t_2) {
  // t_0: "cpu f32[5, 37]"
  // t_1: "cpu f32[37]"
  // t_2: "cpu f32[37]"
  auto [t6] = fusion0(t_0, t_1, t_2);
    // t0 = prims::mul(t_0, t_1)  // t0: "cpu f32[5, 37]"
    // t1 = prims::add(t0, t_2)  // t1: "cpu f32[5, 37]"
    // t6 = nn::gelu(t1)  // t6: "cpu f32[5, 37]"
      // t2 = prims::mul(t1, 0.7071067811865476)  // t2: "cpu f32[5, 37]"
      // t3 = prims::erf(t2)  // t3: "cpu f32[5, 37]"
      // t4 = prims::mul(t1, 0.5)  // t4: "cpu f32[5, 37]"
      // t5 = prims::add(t3, 1)  // t5: "cpu f32[5, 37]"
      // t6 = prims::mul(t4, t5)  // t6: "cpu f32[5, 37]"
  del(t_0, t_1, t_2);
  return t6;
}
)");
  expect_python(last_traces(f).back(), R"(
# Constructed by Delete Last Used
import torch

def fusion0(t_0, t_1, t_2):
  t0 = torch.mul(t_0, t_1)
  t1 = torch.add(t0, t_2)
  t6 = torch.nn.functional.gelu(t1)
  return (t6,)

@torch.no_grad()
def computation(t_0, t_1, t_2):
  # t_0: "cpu f32[5, 37]"
  # t_1: "cpu f32[37]"
  # t_2: "cpu f32[37]"
  [t6] = fusion0(t_0, t_1, t_2)
    # t0 = prims.mul(t_0, t_1)  # t0: "cpu f32[5, 37]"
    # t1 = prims.add(t0, t_2)  # t1: "cpu f32[5, 37]"
    # t6 = torch.nn.functional.gelu(t1)  # t6: "cpu f32[5, 37]"
      # t2 = prims.mul(t1, 0.7071067811865476)  # t2: "cpu f32[5, 37]"
      # t3 = prims.erf(t2)  # t3: "cpu f32[5, 37]"
      # t4 = prims.mul(t1, 0.5)  # t4: "cpu f32[5, 37]"
      # t5 = prims.add(t3, 1)  # t5: "cpu f32[5, 37]"
      # t6 = prims.mul(t4, t5)  # t6: "cpu f32[5, 37]"
  del t_0, t_1, t_2
  return t6
)");
}

TEST("one program serves any strides") {
  manual_seed(1);
  auto f = jit(scaled_gelu, {.executors = {"fuser"}});
  const Tensor w = randn({8}), b = randn({8});
  const Tensor whole = randn({6, 8});
  const Tensor layouts[] = {whole,
                            whole.transpose(0, 1).contiguous().transpose(0, 1),
                            randn({6, 16})(Ellipsis, Slice({}, {}, 2)),
                            randn({12, 8})(Slice({}, {}, 2)),
                            randn({1, 8}).expand({6, 8}),
                            randn({6, 1}).expand({6, 8}),
                            randn({7, 9})(Slice(1, {}), Slice(1, {}))};
  for (const Tensor& x : layouts) expect_close(f(x, w, b), scaled_gelu(x, w, b));
  expect_close(f(whole, randn({16})(Slice({}, {}, 2)), b).sum() * 0.0, tensor({0.f}).reshape({}));
  expect_equal(cache_misses(f), int64_t{1});
}

TEST("transcendental functions give eager mode's bits") {
  manual_seed(1);
  const Tensor x = randn({64, 1601}) * 3.0, y = randn({64, 1601}) * 3.0;
  const auto function = [](Tensor x, Tensor y) {
    const Tensor twice = x * 2.0;
    return std::vector<Tensor>{exp(twice),
                               exp2(twice),
                               expm1(twice),
                               log(twice),
                               log2(twice),
                               log10(twice),
                               log1p(twice),
                               sqrt(twice),
                               rsqrt(twice),
                               sin(twice),
                               cos(twice),
                               tan(twice),
                               asin(twice),
                               acos(twice),
                               atan(twice),
                               tanh(twice),
                               erf(twice),
                               sigmoid(twice),
                               silu(twice),
                               gelu(twice),
                               nn::gelu(twice, "tanh"),
                               reciprocal(twice),
                               atan2(twice, y),
                               fmod(twice, y),
                               prims::gelu_backward(y, twice, "none"),
                               prims::gelu_backward(y, twice, "tanh")};
  };
  auto f = jit(function, {.executors = {"fuser"}});
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor left = x.to(dtype), right = y.to(dtype);
    const std::vector<Tensor> fused = f(left, right), eager = function(left, right);
    for (size_t i = 0; i < eager.size(); ++i) {
      const auto a = fused[i].to(Dtype::f64).to_vector<double>(), b = eager[i].to(Dtype::f64).to_vector<double>();
      size_t different = 0;
      for (size_t k = 0; k < a.size(); ++k) different += a[k] == b[k] || (a[k] != a[k] && b[k] != b[k]) ? 0 : 1;
      expect_equal(std::to_string(different) + " of function " + std::to_string(i),
                   "0 of function " + std::to_string(i));
    }
    expect_equal(fusions_in(last_traces(f).back()), 1);
  }
}

TEST("every dtype's arithmetic is eager mode's") {
  for (const Dtype dtype :
       {Dtype::f64, Dtype::f32, Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8, Dtype::boolean}) {
    const Tensor a = tensor({0, 1, 2, 3, 100, 120, 127, 7, 9, 11, 13, 50, 60, 70, 80, 90, 99}).to(dtype),
                 b = tensor({3, 5, 7, 100, 120, 2, 127, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8}).to(dtype);
    const auto function = [](Tensor a, Tensor b) {
      const Tensor sum = a + b;
      const Tensor product = sum * a;
      const Tensor less = product < b;
      const Tensor chosen = where(less, product, a);
      return std::tuple(chosen, less, product.to(Dtype::f32) + 0.5, chosen.to(Dtype::i8), product.to(Dtype::boolean));
    };
    auto f = jit(function, {.executors = {"fuser"}});
    const auto fused = f(a, b), eager = function(a, b);
    expect_close(std::get<0>(fused), std::get<0>(eager));
    expect_close(std::get<1>(fused), std::get<1>(eager));
    expect_close(std::get<2>(fused), std::get<2>(eager));
    expect_close(std::get<3>(fused), std::get<3>(eager));
    expect_close(std::get<4>(fused), std::get<4>(eager));
    expect_equal(fusions_in(last_traces(f).back()), 1);
  }
}

TEST("a fusion writes straight into the input that it updates") {
  const auto update = [](Tensor p, Tensor g) {
    const Tensor step = g * 0.5;
    const Tensor next = p - step;
    p.copy_(next);
  };
  auto f = jit(update, {.executors = {"fuser"}});
  Tensor p = tensor({1.f, 2.f, 3.f});
  f(p, tensor({2.f, 2.f, 2.f}));
  f(p, tensor({0.f, 2.f, 4.f}));
  expect_near(p.to_vector<float>(), {0.0, 0.0, 0.0});
  expect_equal(fusions_in(last_traces(f).back()), 1);
}

TEST("sizes that are symbols are arguments of one kernel") {
  auto f = jit(scaled_gelu, {.cache = Cache::symbolic_values, .executors = {"fuser"}});
  manual_seed(1);
  for (const int64_t rows : {2, 5, 9}) {
    const Tensor x = randn({rows, 24}), w = randn({24}), b = randn({24});
    expect_close(f(x, w, b), scaled_gelu(x, w, b));
  }
  expect_equal(cache_misses(f), int64_t{1});
}
