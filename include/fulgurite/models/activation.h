#pragma once
#include <fulgurite/detail/requirements.h>

#include <string_view>

#include <fulgurite/operators.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// The activation of a feed-forward layer: "silu", "relu", "gelu", or "gelu_tanh", its approximation.
inline Tensor activated(const Tensor& x, std::string_view activation) {
  if (activation == "silu") return silu(x);
  if (activation == "relu") return relu(x);
  return nn::gelu(x, activation == "gelu_tanh" ? "tanh" : "none");
}

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
