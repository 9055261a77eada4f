#pragma once
#include <fulgurite/operators.h>

#include "ops/core/rules.h"

namespace fulgurite {

// What losses share.

/// The reduction that is meant by `reduction` and PyTorch's older arguments size_average and reduce: "mean", "sum" or "none".
std::string_view reduction_of(const Argument& size_average, const Argument& reduce, const Argument& reduction);
/// The elementwise losses, reduced.
Tensor reduced(const Tensor& loss, std::string_view reduction, SourceLocation at);
/// The cotangent of each elementwise loss from that of what they are reduced to.
Tensor unreduced(const Tensor& cotangent, const Shape& shape, std::string_view reduction);
/// Warns on stderr, once for each line of the program, where input and target of a loss are broadcast: a column beside a vector makes a
/// matrix of losses, which is rarely meant.
void warn_of_broadcasting(std::string_view loss, const Tensor& input, const Tensor& target, SourceLocation at);
/// x, but not below `least`; the gradient is that of x everywhere.
Tensor raised_to(const Tensor& x, Float least, SourceLocation at);

}  // namespace fulgurite
