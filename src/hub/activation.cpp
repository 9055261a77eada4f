#include "hub/activation.h"

namespace fulgurite::hub {

std::string activation_of(const Config& config, std::string_view key, std::string_view otherwise) {
  const std::string name = config.string(key, otherwise);
  if (name == "silu" || name == "swish") return "silu";
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast") return "gelu_tanh";
  if (name == "gelu" || name == "relu") return name;
  config.refuse(key, "there are silu, gelu, gelu_pytorch_tanh, gelu_new, gelu_fast and relu");
}

}  // namespace fulgurite::hub
