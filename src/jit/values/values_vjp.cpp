// Gradients of functions over values.
#include "jit/values/value_call.h"

namespace fulgurite {

Trace record_values(const ValueFunction& function, std::span<const Value> arguments, std::span<const Tensor> members,
                    SourceLocation at) {
  const detail::ValueCall call{arguments, members, at};
  const void* const addresses[] = {&call, nullptr};
  ValueFunction copy = function;
  return detail::record(detail::value_table(), &copy, addresses, at);
}

ValuePullback vjp_values(const ValueFunction& function, std::span<const Value> arguments,
                         const std::vector<int>& with_respect_to, SourceLocation at) {
  const detail::ValueCall call{arguments, {}, at};
  const void* const addresses[] = {&call, nullptr};
  ValueFunction copy = function;
  auto linearized = std::make_shared<detail::Linearized>(
      detail::linearize(detail::value_table(), &copy, addresses, with_respect_to, "vjp", at));
  ValuePullback out;
  out.results = detail::assemble_values(linearized->result);
  out.pull = [linearized, at](const std::vector<Tensor>& cotangents) {
    return detail::pull_back(*linearized, cotangents, at);
  };
  return out;
}

}  // namespace fulgurite
