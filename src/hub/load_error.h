#pragma once
#include <string>
#include <vector>

namespace fulgurite::hub {

/// Returns names with equal layers grouped: "model.layers.{0..29}.self_attn.q_proj.bias (30 tensors)". The order is
/// that of each group's first name.
std::vector<std::string> group_layers(const std::vector<std::string>& names);

}  // namespace fulgurite::hub
