#pragma once
#include <string>
#include <string_view>

#include <fulgurite/hub/config.h>

namespace fulgurite::hub {

/// Returns the activation that a key of a config names: "silu", "gelu", "gelu_tanh" or "relu". UserError for others.
std::string activation_of(const Config& config, std::string_view key, std::string_view otherwise);

}  // namespace fulgurite::hub
