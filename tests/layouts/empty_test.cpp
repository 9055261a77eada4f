// Every operator on its cases without elements and without dimensions: a result of the trace's shape, or an error in
// both.
#include "ir/analysis/trace_values.h"
#include "support/cases/altered_inputs.h"
#include "support/cases/case_traces.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

std::vector<Tensor> with_gradients(const OperatorCase& c, std::vector<Tensor> inputs) {
  const std::vector<Tensor> original = c.inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = inputs[i].detach().clone().requires_grad_(original[i].requires_grad());
  return inputs;
}

/// "" or the problem with the case's answer to these inputs, and with its gradient.
std::string check(const OperatorCase& c, const std::vector<Tensor>& changed_inputs) {
  const std::vector<Tensor> inputs = with_gradients(c, changed_inputs);
  const Answer answer = answer_of(c, inputs);
  try {
    const std::vector<Value> types = returned_values(record_case(c, inputs));
    if (!answer.error.empty()) {
      // Only elements determine it: an index, a class number, a divisor.
      return "";
    }
    for (size_t i = 0; i < types.size(); ++i)
      if (!(types[i].tensor().shape == answer.results[i].shape()) ||
          types[i].tensor().dtype != answer.results[i].dtype())
        return "a trace says " + types[i].tensor().shape.text() + ", the result is " + answer.results[i].shape().text();
  } catch (const UserError& error) {
    if (answer.error.empty()) return std::string("recorded: ") + error.what();
    return "";
  }
  if (!c.is_differentiable()) return "";
  const std::vector<Tensor> results = c.run(inputs);
  std::vector<Tensor> leaves, roots, cotangents;
  for (const Tensor& input : inputs)
    if (input.requires_grad()) leaves.push_back(input);
  for (const Tensor& result : results) {
    if (!result.requires_grad()) continue;
    roots.push_back(result);
    cotangents.push_back(ones_like(result));
  }
  if (roots.empty()) return "";
  const std::vector<Tensor> gradients =
      autograd::grad(roots, leaves, cotangents, {.allow_unused = true, .materialize_grads = true});
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!(gradients[i].shape() == leaves[i].shape())) return "a gradient is of shape " + gradients[i].shape().text();
  return "";
}

void check_change(const OperatorCase& c, const std::string& what, const std::vector<Tensor>& inputs) {
  std::string wrong;
  try {
    wrong = check(c, inputs);
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  expect(wrong.empty(), c.name + ", " + what + ": " + wrong);
}

}  // namespace

TEST("every operator answers or refuses tensors without elements") {
  for (const OperatorCase& c : chosen_cases()) {
    const std::vector<Tensor> inputs = c.inputs();
    for (const int64_t size : distinct_sizes(inputs)) {
      const std::string what = "size " + std::to_string(size) + " as 0";
      check_change(c, what, changed(inputs, [&](const Tensor& t) { return emptied(t, size); }));
      for (size_t i = 0; i < inputs.size(); ++i) {
        std::vector<Tensor> one = inputs;
        one[i] = emptied(inputs[i], size);
        check_change(c, what + " in input " + std::to_string(i), one);
      }
    }
  }
}

TEST("every operator answers or refuses tensors without dimensions") {
  for (const OperatorCase& c : chosen_cases()) {
    const std::vector<Tensor> inputs = c.inputs();
    check_change(c, "all without dimensions", changed(inputs, first_element));
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::vector<Tensor> one = inputs;
      one[i] = first_element(inputs[i]);
      check_change(c, "input " + std::to_string(i) + " without dimensions", one);
    }
  }
}
