#pragma once
#include <fulgurite/detail/requirements.h>

#include <string>
#include <string_view>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// Applies the activation of a name that transformers has: gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu, silu,
/// tanh, … UserError naming those that there are for another one.
Tensor activate(const Tensor& x, std::string_view name);
/// True for a name that `activate` accepts.
bool has_activation(std::string_view name);
/// The names that `activate` accepts, separated by commas.
std::string activation_names();

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
