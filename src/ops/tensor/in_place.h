#pragma once
#include "ops/core/dispatch.h"

namespace fulgurite {

/// The in-place form of an operator: writes its value, converted to the first argument's dtype, into the first
/// argument.
Tensor apply_in_place(const Symbol&, Arguments, SourceLocation);
/// Returns true if a call has inplace=True.
bool asks_for_in_place(const Symbol&, Arguments);

/// Writes `source`, converted and broadcast, into `destination` and returns `destination`. While tracing, the handle
/// gets the new value; in eager mode the elements are copied, the storage's version advances and `destination` gets
/// source's history. `operation` names the operator in messages: "add_".
Tensor write_in_place(const Tensor& destination, const Tensor& source, std::string_view operation, SourceLocation);

}  // namespace fulgurite
