#pragma once
#include <fulgurite/jit_values.h>

namespace fulgurite::detail {

/// The arguments of one call of a function over values.
struct ValueCall {
  std::span<const Value> arguments;
  std::span<const Tensor> members;
  SourceLocation at;
};
std::vector<Value> call_values(const JittedValues&, const ValueCall&);
/// The table for a ValueFunction with the address of a ValueCall as its one argument.
const CallableTable& value_table();
/// The results of such a call.
std::vector<Value> assemble_values(const CallResult&);

}  // namespace fulgurite::detail
