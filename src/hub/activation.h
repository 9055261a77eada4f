#pragma once
#include <string>
#include <string_view>

#include <fulgurite/hub/config.h>

namespace fulgurite::hub {

/// Returns the name of the activation that a key of a config has. UserError for one that models::activate does not
/// know.
std::string activation_of(const Config& config, std::string_view key, std::string_view otherwise);
/// The same for a name that is a part of the key's value.
std::string activation_named(const Config& config, std::string_view key, const std::string& name);

}  // namespace fulgurite::hub
