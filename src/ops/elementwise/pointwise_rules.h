#pragma once
#include "ops/core/dispatch.h"

namespace fulgurite {

// The shape and dtype rules that pointwise operators share. Operands are the leading arguments that are tensors or
// numbers.

/// The broadcast shape and the device of the operands, with this dtype. Fails where no operand is a tensor.
TensorType broadcast_type(Arguments operands, Dtype dtype);
/// `dtype`, or the default dtype where it is not floating: what exp and its like compute in.
Dtype floating_or_default(Dtype dtype);

/// One operand; the dtype stays.
void infer_same(Arguments, InferredTypes&);
/// One operand, numbers only: booleans are refused.
void infer_same_number(Arguments, InferredTypes&);
/// One operand; integers and booleans give the default dtype.
void infer_floating(Arguments, InferredTypes&);
/// One operand; the result is boolean.
void infer_boolean(Arguments, InferredTypes&);

/// Two operands, promoted.
void infer_promoted(Arguments, InferredTypes&);
/// Two operands, promoted; integers and booleans give the default dtype.
void infer_promoted_floating(Arguments, InferredTypes&);
/// Two operands; the result is boolean.
void infer_comparison(Arguments, InferredTypes&);
/// Two operands of integers or booleans.
void infer_bitwise(Arguments, InferredTypes&);

/// Fails where argument `name` is a number that an element of this dtype cannot hold. Symbols are not asked: the rule is
/// asked again when values are given to them.
void require_fits(std::string_view name, const Argument& number, Dtype dtype);

/// The checks of a shape rule, for a decomposition that would accept more than its operator.
void check(InferRule, Arguments);

/// Whether logit brings x into [eps, 1 - eps]. As PyTorch: not for a negative eps, as the dtype it computes in has it.
bool logit_has_bounds(const Argument& eps, Dtype dtype);

/// Zeros of x's type, for gradient rules: zeros_like would keep x alive until the backward for its shape.
Tensor zeros_of(const Tensor& x);
/// The gradient rule of step functions: zero everywhere.
void gradient_is_zero(Gradient&);
/// Of maximum (or minimum) of two tensors: the larger (smaller) one takes the cotangent, equal ones half each.
void gradient_of_extremum(Gradient&, bool of_maximum);

}  // namespace fulgurite
