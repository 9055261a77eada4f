#pragma once
#include <fulgurite/detail/requirements.h>

// Attention of queries, keys and values that are divided into heads, shared by the language models.
#include <cstdint>
#include <limits>

#include <fulgurite/models/key_value_cache.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// Heads of causal attention, and how their scores are computed.
struct CausalHeads {
  int64_t count = 1, key_value_count = 1;  // count / key_value_count query heads share a key and a value
  int64_t width = 1;                       // features of a head
  int64_t window = 0;                      // a position attends to so many before it and itself; 0: to all
  double scale = 1;
  double score_cap = 0;  // 0: none; else a score s is cap tanh(s / cap) (Gemma 2)
};

/// cap tanh(x / cap): nearly x where it is small, never larger than the cap.
inline Tensor soft_capped(const Tensor& x, double cap) {
  const Tensor bounded = tanh(x / cap);
  return bounded * cap;
}

/// Divides the features of x [batch, length, heads * width] into heads: [batch, heads, length, width].
inline Tensor by_head(const Tensor& x, int64_t heads, int64_t width) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, width}), 1, 2);
}

/// Attention with capped scores. query: [batch, heads, length, width]; keys and values: [batch, key_value_heads,
/// columns, width]; mask: true for the columns to attend to, [length, columns] or [batch, 1, length, columns].
inline Tensor capped_attention(const CausalHeads& heads, const Tensor& query, const Tensor& keys, const Tensor& values,
                               const Tensor& mask) {
  const Int batch = query.size(0), length = query.size(2), columns = keys.size(2);
  const Int rows = length * (heads.count / heads.key_value_count);
  const Tensor grouped = reshape(query, {batch, heads.key_value_count, rows, heads.width});
  const Tensor products = matmul(grouped, transpose(keys, -2, -1));
  const Tensor scores = reshape(products, {batch, heads.count, length, columns}) * heads.scale;
  const Tensor capped = soft_capped(scores, heads.score_cap);
  const Tensor masked = where(mask, capped, -std::numeric_limits<double>::infinity());
  const Dtype wide = query.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const Tensor weights = softmax(masked, -1, wide).to(query.dtype());
  const Tensor mixed = matmul(reshape(weights, {batch, heads.key_value_count, rows, columns}), values);
  return reshape(mixed, {batch, heads.count, length, heads.width});
}

/// Attention of [batch, heads, length, width] with a mask, or causal without one.
inline Tensor masked_attention(const CausalHeads& heads, const Tensor& query, const Tensor& keys, const Tensor& values,
                               const Tensor& mask) {
  if (heads.score_cap != 0) return capped_attention(heads, query, keys, values, mask);
  const bool is_grouped = heads.count != heads.key_value_count, is_causal = !mask.defined();
  return nn::scaled_dot_product_attention(query, keys, values, mask, 0.0, is_causal, Float(heads.scale), is_grouped);
}

/// Joins heads [batch, heads, length, width]: [batch, length, heads * width].
inline Tensor joined_heads(const CausalHeads& heads, const Tensor& y) {
  return reshape(transpose(y, 1, 2), {y.size(0), y.size(2), heads.count * heads.width});
}

/// Causal attention of the positions from 0: [batch, heads, length, width] to [batch, length, heads * width].
inline Tensor causal_attention(const CausalHeads& heads, const Tensor& query, const Tensor& keys,
                               const Tensor& values) {
  const Int length = query.size(2);
  const bool is_windowed = heads.window != 0 && bool(length > heads.window);
  if (!is_windowed && heads.score_cap == 0)
    return joined_heads(heads, masked_attention(heads, query, keys, values, {}));
  const Tensor positions = arange(length);
  const Tensor mask = causal_mask(positions, positions, is_windowed ? heads.window : 0);
  return joined_heads(heads, masked_attention(heads, query, keys, values, mask));
}

/// The same for rows at `positions` (i64 [length], or [batch, length]): writes their keys and values into the cached
/// ones [batch, key_value_heads, capacity, width], in place, and attends to the positions up to each row's.
inline Tensor cached_attention(const CausalHeads& heads, const Tensor& query, const Tensor& keys, const Tensor& values,
                               const Tensor& positions, const Tensor& cached_keys, const Tensor& cached_values) {
  write_rows(cached_keys, positions, keys);
  write_rows(cached_values, positions, values);
  const Tensor mask = causal_mask(positions, arange(cached_keys.size(2)), heads.window);
  const auto attend = [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& seen) {
    return masked_attention(heads, q, k, v, seen);
  };
  return joined_heads(heads, attend_rows(query, cached_keys, cached_values, mask, attend));
}

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
