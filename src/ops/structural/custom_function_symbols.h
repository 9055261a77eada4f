#pragma once
#include <string_view>

#include <fulgurite/symbol.h>

namespace fulgurite {

/// The symbol of custom functions of this name: "autograd.Cube". Never destroyed, because traces refer to it; equal
/// names share one.
const Symbol& custom_function_symbol(std::string_view name);

/// A gradient of a custom function marked once_differentiable: the same values, but differentiating it is an error.
extern const Symbol prims_once_differentiable_symbol;
/// The gradient of a non-differentiable value: computing it throws an error with this text.
extern const Symbol prims_no_gradient_symbol;

}  // namespace fulgurite
