#pragma once
#include <cstdint>

#include <fulgurite/hub/config.h>
#include <fulgurite/models/rotary.h>

namespace fulgurite::hub {

/// A config's rotary positions.
struct RotaryKeys {
  double base;
  double share;  // of a head's features
  models::RotaryScaling scaling;
};

/// Reads "rope_parameters" of transformers 5, or "rope_theta" and "rope_scaling" of earlier ones. `block` is the
/// longest sequence. UserError for a kind of scaling that the library does not have.
RotaryKeys rotary_keys(const Config& config, int64_t block, double default_share = 1);
/// Reads the object of one of these keys. `block` is the longest sequence; `original_block`, that of the training, is
/// used where the object names none.
models::RotaryScaling rotary_scaling(const Config& keys, int64_t block, int64_t original_block);

}  // namespace fulgurite::hub
