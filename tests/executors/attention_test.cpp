#include <cmath>
#include <limits>

#include "executors/fused.h"
#include "ops/symbols.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Query, key and value as views of one tensor, as a transformer's projection gives them.
struct Operands {
  Tensor query, key, value, grad;
};
Operands operands(int64_t batch, int64_t heads, int64_t queries, int64_t keys, int64_t features, Dtype dtype) {
  const int64_t longest = std::max(queries, keys);
  const Tensor all = make({batch, longest, 3, heads, features}, dtype, -1, 1, 1);
  const auto part = [&](int64_t i, int64_t length) {
    const Tensor one = select(narrow(all, 1, 0, length), 2, i);
    return transpose(one, 1, 2);
  };
  return {part(0, queries), part(1, keys), part(2, keys),
          transpose(make({batch, queries, heads, features}, dtype, -1, 1, 2), 1, 2)};
}

/// Both directions agree with the decomposition in f64.
void check(const Operands& o, const Tensor& mask, bool is_causal, Float scale = 0.3,
           SourceLocation at = SourceLocation::here()) {
  const double tolerance = tolerance_of(o.query.dtype()) * 4;
  expect_as_decomposed(prims_scaled_dot_product_attention_symbol, {o.query, o.key, o.value, mask, is_causal, scale},
                       tolerance, at);
  expect_as_decomposed(prims_scaled_dot_product_attention_backward_symbol,
                       {o.grad, o.query, o.key, o.value, mask, is_causal, scale}, tolerance * 4, at);
}

}  // namespace

TEST("attention and its cotangents are those of the decomposition") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16}) {
    check(operands(2, 3, 17, 17, 16, dtype), {}, true);
    check(operands(1, 2, 70, 130, 33, dtype), {}, false);
    check(operands(1, 2, 130, 70, 20, dtype), {}, true);
    check(operands(2, 1, 1, 9, 8, dtype), {}, false);
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

TEST("attention takes any scale") {
  for (const double scale : {-0.3, 0.0}) {
    check(operands(1, 2, 70, 37, 33, Dtype::f32), {}, false, scale);
    check(operands(1, 2, 5, 7, 4, Dtype::f32), {}, true, scale);
  }
}

TEST("where one key has all the weight the scores get no cotangent, not even a rounded one") {
  for (const int64_t length : {4, 80}) {
    const Operands o = operands(1, 2, length, length, 16, Dtype::f32);
    const auto [dq, dk, dv] =
        prims::scaled_dot_product_attention_backward(o.grad, o.query, o.key, o.value, {}, true, 1.0);
    const Tensor first = narrow(dq, 2, 0, 1);  // the first query sees one key
    for (const double slope : elements(first)) expect_equal(slope, 0.0);
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
  expect_equal(out.shape(), Shape({1, 2, 0, 8}));
  const auto [dq, dk, dv] = prims::scaled_dot_product_attention_backward(
      no_queries.grad, no_queries.query, no_queries.key, no_queries.value, {}, false, 1.0);
  expect_near(elements(dk), std::vector<double>(64, 0.0));
}

TEST("attention does not depend on the number of threads") {
  const Operands o = operands(1, 3, 300, 300, 24, Dtype::f32);
  expect_same_bits([&] {
    const auto [out, sums] = prims::scaled_dot_product_attention(o.query, o.key, o.value, {}, true, 0.2);
    const auto [dq, dk, dv] =
        prims::scaled_dot_product_attention_backward(o.grad, o.query, o.key, o.value, {}, true, 0.2);
    return std::vector<Tensor>{out, sums, dq, dk, dv};
  });
}
