#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/examine.h>

#include "examine/debug/slice_inputs.h"
#include "ir/analysis/trace_values.h"
#include "pipeline/debug/slice.h"
#include "pipeline/op_interpreter.h"
#include "support/text/text.h"

namespace fulgurite::examine {

Trace slice(const Trace& trace, int first, int last) { return slice_of(trace, first, last); }

std::vector<Tensor> run_slice(const Trace& trace, int first, int last, const std::vector<Tensor>& inputs,
                              const std::vector<std::string>& executors) {
  check_not_recording("run_slice");
  const NoGrad no_grad;
  const Trace slice = slice_of(trace, first, last);
  if (slice.args.size() != inputs.size())
    throw UserError(text::cat("run_slice: lines [", first, ", ", last, ") of ", trace.name, " take ", slice.args.size(),
                              " tensors (", text::join(slice.args, [](const Value& arg) { return proxy_name(arg); }),
                              "), got ", inputs.size()));
  std::vector<Tensor> results;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined() || type_text(inputs[i]) != slice.args[i].tensor().type_text())
      throw UserError(text::cat("run_slice: ", proxy_name(slice.args[i]), " is ", slice.args[i].tensor().type_text(),
                                ", got ", inputs[i].defined() ? type_text(inputs[i]) : "nothing"));
  Program(executable_slice(slice, executors)).run(inputs, results);
  return results;
}

std::map<std::string, Tensor> run_lines(const Trace& trace, const std::vector<Tensor>& inputs,
                                        const std::vector<std::string>& executors) {
  check_not_recording("run_lines");
  const NoGrad no_grad;
  const Trace all = concrete(trace);
  const Trace executed = executable_slice(all, executors);
  const std::vector<Tensor> values = OpInterpreter(executed, nullptr).values(copies(chosen(trace, all, inputs)));
  std::map<std::string, Tensor> out;
  const auto take = [&](const Value& value) {
    if (value.is_tensor()) out[proxy_name(value)] = values[static_cast<size_t>(value.tensor().id)];
  };
  for (const Value& arg : all.args) take(arg);
  for (const BoundSymbol& bound : executed.bound_symbols.read()) for_each_output(bound, take);
  return out;
}

}  // namespace fulgurite::examine
