#pragma once
#include <fulgurite/detail/requirements.h>

#include <string>
#include <utility>
#include <vector>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// How the frequencies of rotary positions are changed for sequences longer than those of the training; the keys of
/// config.json's "rope_scaling" or "rope_parameters".
struct RotaryScaling {
  std::string kind = "default";  // "default", "linear", "dynamic", "llama3", "yarn", "longrope"
  double factor = 1;
  int64_t original_block = 0;                                  // the longest sequence of the training
  double low_frequency_factor = 1, high_frequency_factor = 4;  // llama3
  double beta_fast = 32, beta_slow = 1, attention_factor = 0;  // yarn; 0: computed from the factor
  double mscale = 0, mscale_all_dim = 0;                       // yarn
  bool truncate = true;                                        // yarn: the bounds of its ramp are whole numbers
  std::vector<double> short_factors{}, long_factors{};         // longrope: divisors of the frequencies
};

/// Rotary positions (Su et al. 2021): each pair of features turns by an angle proportional to the position.
struct RotaryEmbedding {
  Tensor inv_freq;              // [features / 2] of f32, radians per position
  double attention_factor = 1;  // scales both tables
  Tensor long_inv_freq{};       // of texts longer than original_block (longrope); undefined: there are no others
  int64_t original_block = 0;
};

/// The frequencies of `features` rotated features. "dynamic" has the unscaled ones, which are right up to
/// original_block positions. Throws UserError for another kind of scaling, an odd number of features, or factors of
/// longrope that are not one for each pair.
RotaryEmbedding make_rotary(int64_t features, double base, const RotaryScaling& scaling = {});

/// Cosines and sines of the angles of some positions.
using RotaryTables = std::pair<Tensor, Tensor>;

/// The tables of positions (i64, [...]): [..., features / 2] each, f32.
inline RotaryTables rotary_tables(const RotaryEmbedding& rotary, const Tensor& positions) {
  const Tensor angles = unsqueeze(positions.to(Dtype::f32), -1) * rotary.inv_freq;
  const Tensor cosines = cos(angles) * rotary.attention_factor;
  const Tensor sines = sin(angles) * rotary.attention_factor;
  return {cosines, sines};
}

/// The tables of a text's positions from 0: [length, features / 2] each.
inline RotaryTables rotary_tables(const RotaryEmbedding& rotary, const Int& length) {
  const bool is_long = rotary.long_inv_freq.defined() && bool(length > rotary.original_block);
  if (!is_long) return rotary_tables(rotary, arange(length));
  return rotary_tables(RotaryEmbedding{.inv_freq = rotary.long_inv_freq, .attention_factor = rotary.attention_factor},
                       arange(length));
}

/// The tables of positions (i64 [length], or [batch, length]) of texts in a cache: [length, features / 2] each, or
/// [batch, 1, length, features / 2]. `is_long` (bool [batch]) is true for those with the frequencies of long texts.
inline RotaryTables rotary_tables(const RotaryEmbedding& rotary, const Tensor& positions, const Tensor& is_long) {
  const Tensor by_text = positions.dim() == 2 ? unsqueeze(positions, 1) : positions;
  if (!rotary.long_inv_freq.defined()) return rotary_tables(rotary, by_text);
  const Tensor frequencies = where(reshape(is_long, {-1, 1, 1, 1}), rotary.long_inv_freq, rotary.inv_freq);
  return rotary_tables(RotaryEmbedding{.inv_freq = frequencies, .attention_factor = rotary.attention_factor}, by_text);
}

/// The tables of the positions from 0, for frequencies without scaling: [length, features / 2] each.
inline RotaryTables rotary_tables(int64_t length, int64_t features, double base) {
  return rotary_tables(make_rotary(features, base), arange(length));
}

/// Rotates pairs of features: feature i of the first half is paired with feature i of the second. Features beyond those
/// of the tables are unchanged. x: [batch, heads, length, features]; the tables: [length, rotated features / 2], or
/// [batch, 1, length, rotated features / 2].
inline Tensor rotate(const Tensor& x, const Tensor& cosines, const Tensor& sines) {
  const Int rotated_features = cosines.size(-1) * 2;
  const bool is_partial = bool(rotated_features < x.size(-1));
  const std::vector<Tensor> halves = chunk(is_partial ? narrow(x, -1, 0, rotated_features) : x, 2, -1);
  const Tensor first = halves[0] * cosines - halves[1] * sines;
  const Tensor second = halves[1] * cosines + halves[0] * sines;
  if (!is_partial) return cat({first, second}, -1).to(x.dtype());
  const Tensor rest = narrow(x, -1, rotated_features, x.size(-1) - rotated_features);
  return cat({first.to(x.dtype()), second.to(x.dtype()), rest}, -1);
}

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
