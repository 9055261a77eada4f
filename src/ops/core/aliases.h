#pragma once
#include <span>
#include <string_view>

namespace fulgurite {

/// Another PyTorch name for an operator: torch.special.psi is torch.digamma.
struct Alias {
  std::string_view name, of;  // both qualified
};
std::span<const Alias> aliases();

}  // namespace fulgurite
