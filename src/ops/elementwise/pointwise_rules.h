#pragma once
#include "ops/core/dispatch.h"

namespace fulgurite {

// The shape and dtype rules shared by pointwise operators. Operands are the leading arguments that are tensors or
// numbers.

/// The operands' broadcast shape and device, with this dtype. Fails if no operand is a tensor.
TensorType broadcast_type(Arguments operands, Dtype dtype);
/// `dtype` if it is floating, else the default dtype: the compute dtype of exp and similar operators.
Dtype floating_or_default(Dtype dtype);

/// One operand; the dtype stays.
void infer_same(Arguments, InferredTypes&);
/// One operand, numbers only: booleans are rejected.
void infer_same_number(Arguments, InferredTypes&);
/// One operand; integers and booleans become the default dtype.
void infer_floating(Arguments, InferredTypes&);
/// One operand; the result is boolean.
void infer_boolean(Arguments, InferredTypes&);

/// Two operands, promoted.
void infer_promoted(Arguments, InferredTypes&);
/// Two operands, promoted; integers and booleans become the default dtype.
void infer_promoted_floating(Arguments, InferredTypes&);
/// Two operands; the result is boolean.
void infer_comparison(Arguments, InferredTypes&);
/// Two operands of integers or booleans.
void infer_bitwise(Arguments, InferredTypes&);

/// Fails if argument `name` is a number that an element of this dtype cannot hold. Symbols are not read: the rule runs
/// again when they are specialized.
void require_fits(std::string_view name, const Argument& number, Dtype dtype);

/// An operand as a tensor; a number becomes one of this dtype, on the other operand's device.
Tensor as_tensor(const Argument& operand, const Tensor& other, Dtype dtype, SourceLocation at);

/// Runs a shape rule's checks, for a decomposition that would accept more than its operator.
void check(InferRule, Arguments);

/// Returns true if logit clamps x to [eps, 1 - eps]. As in PyTorch: not for a negative eps, compared in the compute
/// dtype.
bool logit_has_bounds(const Argument& eps, Dtype dtype);

/// Zeros of x's type, for gradient rules: zeros_like would keep x alive until the backward only for its shape.
Tensor zeros_of(const Tensor& x);
/// The gradient rule of step functions: zero everywhere.
void gradient_is_zero(Gradient&);
/// The gradient of maximum (or minimum) of two tensors: the larger (smaller) one gets the cotangent, equal ones half
/// each.
void gradient_of_extremum(Gradient&, bool of_maximum);

}  // namespace fulgurite
