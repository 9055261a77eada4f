#include "hub/activation.h"

#include <fulgurite/models/activation.h>

namespace fulgurite::hub {

std::string activation_of(const Config& config, std::string_view key, std::string_view otherwise) {
  return activation_named(config, key, config.string(key, otherwise));
}

std::string activation_named(const Config& config, std::string_view key, const std::string& name) {
  if (!models::has_activation(name)) config.refuse(key, "there are " + models::activation_names());
  return name;
}

}  // namespace fulgurite::hub
