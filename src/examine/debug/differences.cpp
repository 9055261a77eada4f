#include "examine/debug/differences.h"

#include <algorithm>

#include "ir/structural.h"
#include "pipeline/debug/compare_tensors.h"
#include "support/text/text.h"

namespace fulgurite::examine {

std::string difference_text(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                            std::span<const BoundSymbol> lines) {
  AllowedDifference allowed = allowed_difference(expected.dtype(), lines);
  if (is_floating(expected.dtype()))
    allowed = {tolerance.relative.value_or(allowed.relative), tolerance.absolute.value_or(allowed.absolute)};
  const auto found = find_difference(actual, expected, allowed);
  return found ? text::cat("element ", place_text(expected, found->index), " is ", found->actual, ", and ",
                           found->expected, " on the reference")
               : std::string();
}

int place_of(const Trace& trace, const BoundSymbol& made) {
  if (made.outputs.empty()) return -1;
  const int id = made.outputs.read()[0].proxy_id();
  const auto makes = [&](const auto& self, const BoundSymbol& bound) -> bool {
    for (const Value& output : bound.outputs.read())
      if (output.proxy_id() == id && !is_unpack(bound)) return true;
    return std::ranges::any_of(bound.subsymbols.read(), [&](const BoundSymbol& part) { return self(self, part); });
  };
  const std::span<const BoundSymbol> lines = trace.bound_symbols.read();
  const auto found = std::ranges::find_if(lines, [&](const BoundSymbol& bound) { return makes(makes, bound); });
  return found == lines.end() ? -1 : static_cast<int>(found - lines.begin());
}

}  // namespace fulgurite::examine
