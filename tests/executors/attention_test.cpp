#include <cmath>
#include <limits>

#include <fulgurite/fulgurite.h>

#include "executors/eager/kernels.h"
#include "executors/fused.h"
#include "ops/generated/symbols.h"
#include "support/emulated_amx.h"

#if defined(FULGURITE_PAIR_ATTENTION)
// The kernels for pairs of bf16 and for a matrix unit, compiled with instructions for the rest that more CPUs have.
namespace fulgurite::kernels_emulated_pairs {
void attention_kernel(Arguments, std::span<const Tensor> results);
void attention_backward_kernel(Arguments, std::span<const Tensor> results);
}  // namespace fulgurite::kernels_emulated_pairs
namespace fulgurite::kernels_emulated_unit {
void attention_kernel(Arguments, std::span<const Tensor> results);
void attention_backward_kernel(Arguments, std::span<const Tensor> results);
}  // namespace fulgurite::kernels_emulated_unit
#endif

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Query, key and value as views of one tensor, the output of a transformer's projection.
struct Operands {
  Tensor query, key, value, grad;
};
Operands operands(int64_t batch, int64_t heads, int64_t queries, int64_t keys, int64_t features, Dtype dtype,
                  int64_t key_heads = 0) {
  if (key_heads == 0) key_heads = heads;
  const int64_t longest = std::max(queries, keys);
  const Tensor all = make({batch, longest, heads + 2 * key_heads, features}, dtype, -1, 1, 1);
  const auto part = [&](int64_t first, int64_t count, int64_t length) {
    const Tensor shorter = narrow(all, 1, 0, length);
    return transpose(narrow(shorter, 2, first, count), 1, 2);
  };
  return {part(0, heads, queries), part(heads, key_heads, keys), part(heads + key_heads, key_heads, keys),
          transpose(make({batch, queries, heads, features}, dtype, -1, 1, 2), 1, 2)};
}

/// The logarithms of the rows' sums, by the forward.
Tensor logsumexp_of(const Operands& o, const Tensor& mask, bool is_causal, Float scale) {
  const auto [out, sums] = prims::scaled_dot_product_attention(o.query, o.key, o.value, mask, is_causal, scale);
  return sums;
}

using AttentionKernel = void (*)(Arguments, std::span<const Tensor> results);
/// Kernels that multiply pairs of bf16, forward and backward.
struct PairKernels {
  AttentionKernel forward, backward;

  /// The unit is emulated where there is none.
  std::vector<Tensor> run(const Symbol& symbol, const std::vector<Argument>& arguments,
                          std::span<const Tensor> like) const {
    const EmulatedAmx unit;
    std::vector<Tensor> results;
    for (const Tensor& t : like) results.push_back((zeros(t.shape()) - 9.0).to(t.dtype()));
    (&symbol == &prims_scaled_dot_product_attention_symbol ? forward : backward)(arguments, results);
    return results;
  }
};
/// Those that support these operands, even if the CPU lacks them: none without AVX2.
std::vector<PairKernels> pair_kernels([[maybe_unused]] const Operands& o) {
#if defined(FULGURITE_PAIR_ATTENTION)
  const bool are_bf16_dot =
      o.query.dtype() == Dtype::bf16 && o.query.shape()[2].hint() >= 16 && o.key.shape()[2].hint() >= 16;
  if (are_bf16_dot && __builtin_cpu_supports("avx2"))
    return {{kernels_emulated_pairs::attention_kernel, kernels_emulated_pairs::attention_backward_kernel},
            {kernels_emulated_unit::attention_kernel, kernels_emulated_unit::attention_backward_kernel}};
#endif
  return {};
}

/// A symbol's kernel agrees with the decomposition in f64, and so do those of pairs.
void check(const Operands& o, const Symbol& symbol, const std::vector<Argument>& arguments, double tolerance,
           SourceLocation at) {
  expect_as_decomposed(symbol, arguments, tolerance, at);
  for (const PairKernels& kernels : pair_kernels(o)) {
    const KernelAndDecomposition both = run_both(symbol, arguments);
    const std::vector<Tensor> results = kernels.run(symbol, arguments, both.kernel);
    for (size_t i = 0; i < results.size(); ++i)
      expect_near(elements(results[i]), elements(both.decomposition[i]), tolerance, at);
  }
}

/// Both directions agree with the decomposition in f64.
void check(const Operands& o, const Tensor& mask, bool is_causal, Float scale = 0.3,
           SourceLocation at = SourceLocation::here()) {
  const double tolerance = tolerance_of(o.query.dtype()) * 4;
  check(o, prims_scaled_dot_product_attention_symbol, {o.query, o.key, o.value, mask, is_causal, scale}, tolerance, at);
  const Tensor sums = logsumexp_of(o, mask, is_causal, scale);
  check(o, prims_scaled_dot_product_attention_backward_symbol,
        {o.grad, o.query, o.key, o.value, sums, mask, is_causal, scale}, tolerance * 4, at);
}

}  // namespace

TEST("attention and its cotangents are those of the decomposition") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16}) {
    check(operands(2, 3, 17, 17, 16, dtype), {}, true);
    check(operands(1, 2, 70, 130, 33, dtype), {}, false);
    check(operands(1, 2, 130, 70, 20, dtype), {}, true);
    check(operands(2, 1, 1, 9, 8, dtype), {}, false);
    check(operands(1, 2, 75, 75, 33, dtype), {}, true);
  }
  check(operands(1, 1, 3, 1300, 8, Dtype::f32), {}, false);
  check(operands(1, 1, 700, 700, 5, Dtype::f32), {}, true);
}

TEST("masks of attention are added, or choose") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
    const Operands o = operands(2, 3, 19, 40, 12, dtype);
    check(o, make({19, 40}, dtype, -2, 2, 3), false);
    check(o, make({2, 1, 19, 40}, Dtype::f32, -2, 2, 4), false);
    check(o, ge(make({2, 1, 1, 40}, Dtype::f32, -1, 1, 5), 0), false);
    check(o, ge(make({3, 19, 1}, Dtype::f32, -1, 1, 6), 0), false);
  }
}

TEST("keys that a boolean mask hides from all queries change no bit") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16})
    for (const int64_t queries : {1, 19})
      for (const int64_t shown : {100, 512, 600}) {
        const Operands o = operands(1, 2, queries, 700, 16, dtype, 1);
        const auto attend = [&](int64_t keys) {
          const Tensor mask = lt(reshape(arange(keys), {1, keys}), shown);
          const auto [out, sums] = prims::scaled_dot_product_attention(o.query, narrow(o.key, 2, 0, keys),
                                                                       narrow(o.value, 2, 0, keys), mask, false, 0.3);
          return std::vector{elements(out), elements(sums)};
        };
        expect(attend(700) == attend(shown), "hidden keys give other bits");
      }
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    const Operands o = operands(1, 2, 40, 60, 16, dtype);
    const Tensor rows = reshape(arange(40), {40, 1}), keys = reshape(arange(60), {1, 60});
    check(o, le(keys, rows), false);                                       // each query one key more
    check(o, logical_and(le(keys, rows), gt(keys, sub(rows, 7))), false);  // a window
    check(o, logical_and(le(keys, rows), ge(rows, 9)), false);             // the first tile of queries sees nothing
  }
}

TEST("a head of key and value serves several of query") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    check(operands(2, 6, 33, 33, 16, dtype, 2), {}, true);
    check(operands(1, 4, 20, 50, 24, dtype, 1), make({4, 20, 50}, dtype, -2, 2, 3), false);
    check(operands(1, 4, 5, 5, 3, dtype, 2), {}, true);
  }
  const auto ungrouped = [](const Tensor& x) { return repeat_interleave(x, 3, 1); };
  const Operands o = operands(2, 6, 33, 33, 16, Dtype::f32, 2);
  const auto [grouped, grouped_sums] = prims::scaled_dot_product_attention(o.query, o.key, o.value, {}, true, 0.3);
  const auto [repeated, repeated_sums] =
      prims::scaled_dot_product_attention(o.query, ungrouped(o.key), ungrouped(o.value), {}, true, 0.3);
  expect(elements(grouped) == elements(repeated), "repeated heads give other bits");
}

TEST("attention takes operands of any layout") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    Operands o = operands(1, 2, 40, 40, 18, dtype);
    const auto turned = [](const Tensor& x) { return transpose(transpose(x, 2, 3).contiguous(), 2, 3); };
    check({turned(o.query), turned(o.key), turned(o.value), turned(o.grad)}, {}, true);
    const Tensor wide = make({1, 2, 40, 37}, dtype, -1, 1, 4);  // rows that begin at odd places
    const auto odd = [&](int64_t first) { return narrow(wide, 3, first, 18); };
    check({odd(1), odd(2), odd(19), odd(18)}, {}, true);
  }
}

TEST("a single query reads keys and values where they are") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16}) {
    check(operands(2, 3, 1, 100, 64, dtype), {}, false);
    check(operands(1, 4, 1, 1030, 20, dtype, 2), {}, false);
    check(operands(1, 2, 1, 70, 33, dtype), ge(make({1, 70}, Dtype::f32, -1, 1, 5), 0), false);
    check(operands(1, 2, 1, 9, 1, dtype), {}, true);
    check(operands(1, 2, 1, 0, 8, dtype), {}, false);
    Operands o = operands(1, 2, 1, 40, 18, dtype);
    o.value = transpose(transpose(o.value, 2, 3).contiguous(), 2, 3);
    check(o, {}, false);
  }
}

TEST("attention of long rows in bf16 goes from block to block") {
  check(operands(1, 1, 20, 1301, 34, Dtype::bf16), {}, false);
  check(operands(1, 1, 1100, 1100, 8, Dtype::bf16), {}, true, 0.1);
  const Operands o = operands(1, 2, 24, 1100, 16, Dtype::bf16);
  const Tensor mask = ge(make({24, 1}, Dtype::f32, -1, 1, 7), 0);  // some queries see nothing
  check(o, mask, false);
  check(o, mul(make({2, 24, 1100}, Dtype::f32, -4, 4, 8), 1), false);
}

TEST("attention's results are stored by rows and then by heads, so that joining the heads copies nothing") {
  const Operands o = operands(2, 3, 17, 17, 16, Dtype::f32);
  const Tensor out = nn::scaled_dot_product_attention(o.query, o.key, o.value, {}, 0.0, true);
  expect_equal(out.shape(), Shape({2, 3, 17, 16}));
  expect(transpose(out, 1, 2).is_contiguous(), "the result does not lie by rows");
}

TEST("NaN spreads to the rows that read it") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    const Operands o = operands(1, 1, 40, 40, 16, dtype);
    const Tensor key = o.key.clone();
    select(select(select(key, 0, 0), 0, 0), 0, 20).fill_(std::nan(""));
    const auto [out, sums] = prims::scaled_dot_product_attention(o.query, key, o.value, {}, true, 0.3);
    const std::vector<double> values = elements(sums);
    for (int64_t i = 0; i < 40; ++i) expect_equal(std::isnan(values[i]), i >= 20);
    for (const PairKernels& kernels : pair_kernels(o)) {
      const std::vector<Tensor> results =
          kernels.run(prims_scaled_dot_product_attention_symbol, {o.query, key, o.value, Tensor(), true, Float(0.3)},
                      std::vector{out, sums});
      for (int64_t i = 0; i < 40; ++i) expect_equal(std::isnan(elements(results[1])[static_cast<size_t>(i)]), i >= 20);
    }
  }
}

TEST("attention takes any scale") {
  for (const double scale : {-0.3, 0.0}) {
    check(operands(1, 2, 70, 37, 33, Dtype::f32), {}, false, scale);
    check(operands(1, 2, 5, 7, 4, Dtype::f32), {}, true, scale);
  }
}

TEST("the scores get a cotangent of exact zeros if one key has all the weight") {
  for (const int64_t length : {4, 80}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      const Operands o = operands(1, 2, length, length, 16, dtype);
      const Tensor sums = logsumexp_of(o, {}, true, 1.0);
      const auto [dq, dk, dv] =
          prims::scaled_dot_product_attention_backward(o.grad, o.query, o.key, o.value, sums, {}, true, 1.0);
      const Tensor first = narrow(dq, 1, 0, 1);  // the first query sees one key
      for (const double slope : elements(first)) expect_equal(slope, 0.0);
      for (const PairKernels& kernels : pair_kernels(o)) {
        const std::vector<Tensor> results =
            kernels.run(prims_scaled_dot_product_attention_backward_symbol,
                        {o.grad, o.query, o.key, o.value, sums, Tensor(), true, Float(1.0)}, std::vector{dq, dk, dv});
        for (const double slope : elements(narrow(results[0], 1, 0, 1))) expect_equal(slope, 0.0);
      }
    }
  }
}

TEST("a query that sees nothing gets zeros") {
  const Operands o = operands(1, 2, 5, 6, 4, Dtype::f32);
  const Tensor mask = ge(reshape(tensor({-1.0, 1.0, 1.0, -1.0, 1.0}), {5, 1}), 0);
  Results results;
  const Argument forward[] = {o.query, o.key, o.value, mask, false, Float(0.5)};
  dispatch(prims_scaled_dot_product_attention_symbol, forward, SourceLocation::here(), results);
  const std::vector<double> out = elements(results[0]), sums = elements(results[1]);
  for (int64_t j = 0; j < 4; ++j) expect_equal(out[j], 0.0);
  expect_equal(sums[0], -std::numeric_limits<double>::infinity());
  expect(std::isfinite(sums[1]));
  check(o, mask, false);
}

TEST("attention over nothing") {
  const Operands no_keys = operands(1, 2, 4, 0, 8, Dtype::f32);
  Results results;
  const Argument forward[] = {no_keys.query, no_keys.key, no_keys.value, Tensor(), false, Float(1.0)};
  dispatch(prims_scaled_dot_product_attention_symbol, forward, SourceLocation::here(), results);
  expect_near(elements(results[0]), std::vector<double>(64, 0.0));
  const Operands no_queries = operands(1, 2, 0, 4, 8, Dtype::f32);
  const auto [out, sums] =
      prims::scaled_dot_product_attention(no_queries.query, no_queries.key, no_queries.value, {}, false, 1.0);
  expect_equal(out.shape(), Shape({1, 0, 2, 8}));
  const auto [dq, dk, dv] = prims::scaled_dot_product_attention_backward(
      no_queries.grad, no_queries.query, no_queries.key, no_queries.value, sums, {}, false, 1.0);
  expect_near(elements(dk), std::vector<double>(64, 0.0));
}

TEST("attention does not depend on the number of threads") {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    const Operands o = operands(1, 6, 300, 300, 24, dtype, 3);
    expect_same_bits([&] {
      const auto [out, sums] = prims::scaled_dot_product_attention(o.query, o.key, o.value, {}, true, 0.2);
      const auto [dq, dk, dv] =
          prims::scaled_dot_product_attention_backward(o.grad, o.query, o.key, o.value, sums, {}, true, 0.2);
      return std::vector<Tensor>{out, sums, dq, dk, dv};
    });
    const auto [out, sums] = prims::scaled_dot_product_attention(o.query, o.key, o.value, {}, true, 0.2);
    for (const PairKernels& kernels : pair_kernels(o))
      expect_same_bits([&, like = std::vector{out, sums}, given = sums] {
        std::vector<Tensor> all = kernels.run(prims_scaled_dot_product_attention_symbol,
                                              {o.query, o.key, o.value, Tensor(), true, Float(0.2)}, like);
        const auto [dq, dk, dv] =
            prims::scaled_dot_product_attention_backward(o.grad, o.query, o.key, o.value, given, {}, true, 0.2);
        for (const Tensor& t :
             kernels.run(prims_scaled_dot_product_attention_backward_symbol,
                         {o.grad, o.query, o.key, o.value, given, Tensor(), true, Float(0.2)}, std::vector{dq, dk, dv}))
          all.push_back(t);
        return all;
      });
  }
}

TEST("attention of rows without elements is the mean of the values") {
  const Tensor query = zeros({1, 1, 2, 0}), key = zeros({1, 1, 3, 0});
  const Tensor value = tensor({{{{1.0, 2.0}, {3.0, 4.0}, {8.0, 9.0}}}}).requires_grad_();
  const auto attend = [](Tensor q, Tensor k, Tensor v) { return nn::scaled_dot_product_attention(q, k, v); };
  for (const Tensor& result : {attend(query, key, value), jit(attend)(query, key, value),
                               jit(attend, {.cache = Cache::symbolic_values})(query, key, value)}) {
    expect_near(elements(result), {4, 5, 4, 5});
    expect_near(elements(autograd::grad(sum(result), value)[0]), std::vector<double>(6, 2.0 / 3));
  }
}
