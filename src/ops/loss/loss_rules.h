#pragma once
#include <fulgurite/operators.h>

#include "ops/core/rules.h"

namespace fulgurite {

// Rules shared by losses.

/// Returns the reduction from `reduction` and PyTorch's older arguments size_average and reduce: "mean", "sum" or
/// "none".
std::string_view reduction_of(const Argument& size_average, const Argument& reduce, const Argument& reduction);
/// Reduces the elementwise losses.
Tensor reduced(const Tensor& loss, std::string_view reduction, SourceLocation at);
/// The cotangent of the elementwise losses from that of their reduction.
Tensor unreduced(const Tensor& cotangent, const Shape& shape, std::string_view reduction);
/// Warns on stderr, once for each source line, if input and target of a loss are broadcast: a column and a vector
/// produce a matrix of losses, which is rarely intended.
void warn_of_broadcasting(std::string_view loss, const Tensor& input, const Tensor& target, SourceLocation at);
/// max(x, least), with the gradient of x everywhere.
Tensor raised_to(const Tensor& x, Float least, SourceLocation at);

}  // namespace fulgurite
