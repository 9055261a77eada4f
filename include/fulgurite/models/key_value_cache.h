#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstdint>
#include <vector>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// By layer, the keys and values of earlier positions: [batch, key_value_heads, capacity, head_width].
struct KeyValueCache {
  std::vector<Tensor> keys, values;
  Tensor is_long;  // bool [batch]: texts with the frequencies of RotaryEmbedding::long_inv_freq; undefined: none
};

/// A cache of `layers` layers, filled with zeros. `may_be_long`: texts may have the frequencies of long ones; none has.
inline KeyValueCache make_key_value_cache(size_t layers, const std::array<int64_t, 4>& sizes,
                                          const TensorOptions& options, bool may_be_long = false) {
  KeyValueCache cache;
  if (may_be_long) cache.is_long = zeros({sizes[0]}, {.dtype = Dtype::boolean, .device = options.device});
  for (size_t i = 0; i < layers; ++i) {
    cache.keys.push_back(zeros({sizes[0], sizes[1], sizes[2], sizes[3]}, options));
    cache.values.push_back(zeros({sizes[0], sizes[1], sizes[2], sizes[3]}, options));
  }
  return cache;
}

/// Writes the keys or values of rows at `positions` (i64 [rows], or [batch, rows]) into a layer's, in place: [batch,
/// heads, rows, width] into [batch, heads, capacity, width].
inline void write_rows(Tensor cached, const Tensor& positions, const Tensor& rows) {
  if (positions.dim() == 1) {
    cached.copy_(index_copy(cached, 2, positions, rows));
    return;
  }
  const Tensor index = expand(reshape(positions, {positions.size(0), 1, positions.size(1), 1}), rows.shape());
  cached.copy_(scatter(cached, 2, index, rows));
}

/// True where causal attention of a row at a position sees a column's position: [rows, columns], or [batch, 1, rows,
/// columns] for row positions [batch, rows]. With a window, a row sees itself and the window - 1 positions before it.
inline Tensor causal_mask(const Tensor& row_positions, const Tensor& column_positions, int64_t window = 0) {
  const Tensor by_batch = row_positions.dim() == 1 ? row_positions : unsqueeze(row_positions, 1);
  const Tensor row = unsqueeze(by_batch, -1);
  Tensor is_before = column_positions <= row;
  if (window == 0) return is_before;
  const Tensor is_near = column_positions > row - window;
  return logical_and(is_before, is_near);
}

/// attend(query, keys, values, mask) for rows [batch, heads, rows, width], a layer's keys and values, and a
/// causal_mask. Up to eight rows of one text are computed as rows of different texts: their bits do not depend on their
/// number.
template <class Attend>
Tensor attend_rows(const Tensor& query, const Tensor& keys, const Tensor& values, const Tensor& mask,
                   const Attend& attend) {
  const Int rows = query.size(2);
  if (bool(query.size(0) != 1) || bool(rows > 8)) return attend(query, keys, values, mask);
  const auto shared = [&](const Tensor& cached) { return expand(cached, {rows, -1, -1, -1}); };
  const Tensor alone = transpose(query, 0, 2);
  const Tensor all_keys = shared(keys), all_values = shared(values);
  const Tensor seen = reshape(mask, {rows, 1, 1, keys.size(2)});
  return transpose(attend(alone, all_keys, all_values, seen), 0, 2);
}
/// The same with scaled_dot_product_attention.
inline Tensor attend_rows(const Tensor& query, const Tensor& keys, const Tensor& values, const Tensor& mask,
                          const Float& scale, bool enable_gqa = false) {
  return attend_rows(query, keys, values, mask,
                     [&](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& seen) {
                       return nn::scaled_dot_product_attention(q, k, v, seen, 0.0, false, scale, enable_gqa);
                     });
}

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
