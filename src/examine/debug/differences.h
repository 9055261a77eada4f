#pragma once
#include <span>
#include <string>

#include <fulgurite/examine.h>

namespace fulgurite::examine {

/// "element [0, 1] is 1.5, and 1 on the reference": the first that exceeds the tolerance; empty if none does.
/// Without a tolerance: that of the dtypes of `lines`.
std::string difference_text(const Tensor& actual, const Tensor& expected, const Tolerance&,
                            std::span<const BoundSymbol> lines);
/// The op of a trace that computes the outputs of `made`, itself or in its subsymbols; -1 if none does.
int place_of(const Trace&, const BoundSymbol& made);

}  // namespace fulgurite::examine
