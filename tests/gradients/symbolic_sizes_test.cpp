// Every operator's shape rule, decomposition and gradient rule on tensors whose sizes are symbols.
#include <map>

#include "ir/analysis/trace_values.h"
#include "support/cases/operator_cases.h"
#include "support/test.h"
#include "tracing/tracer.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::vector<int64_t> hints(const Shape& shape) {
  std::vector<int64_t> out;
  for (const Int size : shape) out.push_back(size.hint());
  return out;
}

/// Records a case with a symbol for every size beside 0 and 1, differentiates it, and compares sizes with the concrete
/// call's. Gives "" or what is wrong; counts in `fixed` the symbols whose values the rules asked for.
std::string record_symbolically(const OperatorCase& c, int& fixed) {
  const std::vector<Tensor> inputs = c.inputs();
  std::vector<Tensor> expected;
  {
    const NoGrad no_grad;
    expected = c.run(inputs);
  }
  Tracer tracer;
  std::vector<Tensor> symbolic, results;
  int sizes = 0;
  for (const Tensor& input : inputs) {
    Shape shape;
    for (const Int size : input.shape())
      shape.push_back(size.hint() > 1 ? tracer.scalars().add_integer(size.hint(), "size" + std::to_string(sizes++))
                                      : size);
    symbolic.push_back(tracer.add_argument({shape, input.dtype(), {}}, input.requires_grad(), ""));
  }
  {
    const InterpreterScope scope(&tracer);
    results = c.run(symbolic);
  }
  if (results.size() != expected.size()) return "another number of results";
  std::vector<Value> returned;
  for (size_t i = 0; i < results.size(); ++i) {
    if (hints(results[i].shape()) != hints(expected[i].shape()) || results[i].dtype() != expected[i].dtype())
      return "result " + std::to_string(i) + " is of shape " + results[i].shape().text();
    returned.push_back(tracer.value_of(results[i]));
  }
  const Trace trace = canonical_order(tracer.finish(std::move(returned)));
  check_trace(trace);
  const auto count_fixed = [&](const Trace& t) {
    for (const auto& number : *t.numbers)
      if (number->kind == NumberProxy::Kind::integer && number->constraint == NumberProxy::Constraint::fixed) ++fixed;
  };
  if (!c.is_differentiable()) {
    if (trace.numbers) count_fixed(trace);
    return "";
  }
  const ForwardBackwardTraces traces = forward_and_backward_from_trace(trace);
  check_trace(traces.forward);
  check_trace(traces.backward);
  if (trace.numbers) count_fixed(traces.backward.numbers ? traces.backward : trace);
  const std::vector<Value> gradients = returned_values(traces.backward);
  // One for each argument; numbers have none.
  const std::vector<Value> arguments = input_values(trace);
  if (gradients.size() != arguments.size()) return "another number of gradients";
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].is_none()) continue;
    if (hints(gradients[i].tensor().shape) != hints(arguments[i].tensor().shape))
      return "the gradient of argument " + std::to_string(i) + " is of shape " + gradients[i].tensor().shape.text();
  }
  return "";
}

}  // namespace

TEST("the rules of every operator work on symbolic sizes") {
  std::map<std::string, int> fixed;
  for (const OperatorCase& c : operator_cases()) {
    std::string wrong;
    try {
      wrong = record_symbolically(c, fixed[std::string(c.symbol->qualified_name())]);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    expect(wrong.empty(), c.name + ": " + wrong);
  }
  std::string asked;
  for (const auto& [op, count] : fixed)
    if (count > 0) asked += op + "\n";
  // How many results there are depends on a size, or how many factors are left out in turn.
  expect_text(asked, R"(
torch.chunk
torch.prod
torch.split
torch.split_with_sizes
torch.unbind
)");
}
