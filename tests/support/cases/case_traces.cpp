#include "support/cases/case_traces.h"

#include "ir/analysis/trace_values.h"
#include "support/gradcheck.h"
#include "tracing/evaluate.h"
#include "tracing/tracer.h"

namespace fulgurite::test {

namespace {

int tensors_in(const Value& value) {
  if (value.is_tensor()) return 1;
  int count = 0;
  if (value.is_list())
    for (const Value& item : value.list()) count += tensors_in(item);
  return count;
}

}  // namespace

Trace record_case(const OperatorCase& c, const std::vector<Tensor>& inputs) {
  Tracer tracer;
  std::vector<Tensor> handles;
  for (const Tensor& input : inputs)
    handles.push_back(tracer.add_argument({input.shape(), input.dtype(), {}}, input.requires_grad(), ""));
  std::vector<Value> results;
  {
    const InterpreterScope scope(&tracer);
    for (const Tensor& result : c.run(handles)) results.push_back(tracer.value_of(result));
  }
  return canonical_order(tracer.finish(std::move(results)));
}

CaseTraces differentiate_case(const OperatorCase& c) {
  CaseTraces out;
  out.inputs = c.inputs();
  const ForwardBackwardTraces traces = forward_and_backward_from_trace(record_case(c, out.inputs));
  out.forward = traces.forward;
  out.backward = traces.backward;
  const NoGrad no_grad;
  manual_seed(case_seed);
  std::vector<Tensor> given = evaluate(out.forward, out.inputs);
  const size_t saved_count = keyword(out.forward.bound_symbols.back(), "saved_tensors").list().size();
  const size_t result_count = keyword(out.forward.bound_symbols.back(), "flat_output").list().size();
  out.results.assign(given.begin(), given.begin() + static_cast<int64_t>(result_count));
  out.saved.assign(given.begin() + static_cast<int64_t>(result_count),
                   given.begin() + static_cast<int64_t>(result_count + saved_count));
  const std::vector<Value> asked = out.backward.args[1].list();
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].is_none()) out.cotangents.emplace_back();
    else if (!c.known_gradients.empty()) out.cotangents.push_back(ones_like(out.results[i]));
    else out.cotangents.push_back(weights_like(out.results[i], static_cast<int>(i)));
  }
  return out;
}

std::vector<Tensor> CaseTraces::run_backward(const Trace& trace, const std::vector<Tensor>& saved_tensors) const {
  const NoGrad no_grad;
  std::vector<Tensor> given = saved_tensors;
  given.insert(given.end(), cotangents.begin(), cotangents.end());
  return evaluate(trace, given);
}

std::vector<const Parameter*> parameters_of_inputs(const OperatorCase& c) {
  std::vector<const Parameter*> out;
  const auto parameters = c.symbol->signature.params();
  for (size_t i = 0; i < c.args.size(); ++i) out.insert(out.end(), tensors_in(c.args[i]), &parameters[i]);
  for (const auto& [name, value] : c.kwargs)
    for (const Parameter& parameter : parameters)
      if (parameter.name == name) out.insert(out.end(), tensors_in(value), &parameter);
  return out;
}

}  // namespace fulgurite::test
