#pragma once
#include <string_view>

#include <fulgurite/symbol.h>

namespace fulgurite {

/// The symbol of custom functions of this name: "autograd.Cube". It lives as long as the process, because traces refer to it; equal names have one.
const Symbol& custom_function_symbol(std::string_view name);

/// A gradient that a custom function marked once_differentiable gives: the same values, whose own gradient is an error.
extern const Symbol prims_once_differentiable_symbol;
/// The gradient of what has none: an error with a text, for whoever computes it.
extern const Symbol prims_no_gradient_symbol;

}  // namespace fulgurite
