#pragma once
#include <span>
#include <string>

#include <fulgurite/examine.h>

namespace fulgurite::examine {

/// "element [0, 1] is 1.5, and 1 on the reference": the first that is too far away; empty where none is.
/// Without a tolerance: as the dtypes that `lines` make allow.
std::string difference_text(const Tensor& actual, const Tensor& expected, const Tolerance&, std::span<const BoundSymbol> lines);
/// The line of a trace that makes what `made` makes, or has it among its parts; -1 where none does.
int place_of(const Trace&, const BoundSymbol& made);

}  // namespace fulgurite::examine
