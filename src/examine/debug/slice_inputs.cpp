#include "examine/debug/slice_inputs.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/structural.h"
#include "ops/core/dispatch.h"
#include "pipeline/debug/slice.h"
#include "support/text/text.h"

namespace fulgurite::examine {

void check_not_recording(const char* what) {
  if (innermost_interpreter()) throw UserError(text::cat(what, " inside a traced function"));
}

Trace concrete(const Trace& trace) { return slice_of(trace, 0, static_cast<int>(trace.bound_symbols.size())); }

std::vector<Tensor> chosen(const Trace& trace, const Trace& slice, const std::vector<Tensor>& inputs) {
  const std::vector<Value> given = input_values(trace);
  std::vector<std::pair<int, Tensor>> by_id;
  size_t next = 0;
  for (const Value& value : given)
    if (value.is_tensor()) {
      if (next == inputs.size()) break;
      by_id.emplace_back(value.tensor().id, inputs[next++]);
    }
  const auto tensors = static_cast<size_t>(std::ranges::count_if(given, [](const Value& v) { return v.is_tensor(); }));
  if (tensors != inputs.size())
    throw UserError(text::cat(trace.name, " takes ", tensors, " tensors, got ", inputs.size()));
  // An item may be unpacked under another name.
  for (const BoundSymbol& bound : trace.bound_symbols.read()) {
    if (!is_unpack(bound)) continue;
    const std::vector<Value> from = bound.flat_args(), to = bound.flat_outs();
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i)
      for (size_t k = 0; k < by_id.size() && from[i].is_tensor() && to[i].is_tensor(); ++k)
        if (by_id[k].first == from[i].tensor().id) {
          by_id.emplace_back(to[i].tensor().id, Tensor(by_id[k].second));
          break;
        }
  }
  std::vector<Tensor> out;
  for (const Value& arg : slice.args) {
    const auto found = std::ranges::find_if(by_id, [&](const auto& pair) { return pair.first == arg.tensor().id; });
    if (found == by_id.end())
      throw InternalError(text::cat("the slice needs ", proxy_name(arg), ", which is not an input of ", trace.name));
    out.push_back(found->second);
  }
  return out;
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.defined() ? tensor.detach().clone() : Tensor());
  return out;
}

}  // namespace fulgurite::examine
