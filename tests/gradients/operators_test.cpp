// Every operator's gradient against central differences, to second order, on each of its cases.
#include "support/cases/operator_cases.h"
#include "support/gradcheck.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// The gradcheck's report of a case: "" or the problem.
std::string check(const OperatorCase& c, bool transposed) {
  std::vector<Tensor> inputs = c.inputs();
  std::vector<bool> turned(inputs.size());
  for (size_t i = 0; transposed && i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad() || inputs[i].ndim() < 2) continue;
    turned[i] = true;
    inputs[i] = inputs[i].detach().transpose(0, -1).contiguous().requires_grad_();
  }
  const TensorFunction function = [&](const std::vector<Tensor>& leaves) {
    std::vector<Tensor> given;
    for (size_t i = 0; i < leaves.size(); ++i) given.push_back(turned[i] ? leaves[i].transpose(0, -1) : leaves[i]);
    return c.run(given);
  };
  try {
    return gradcheck(function, inputs);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST("operators have right gradients of both orders") {
  for (const OperatorCase& c : chosen_cases()) {
    if (!c.is_differentiable() || !c.known_gradients.empty()) continue;
    const std::string wrong = check(c, false);
    expect(wrong.empty(), c.name + ": " + wrong);
  }
}

TEST("operators have right gradients of both orders where tensors are transposed in memory") {
  for (const OperatorCase& c : chosen_cases()) {
    if (!c.is_differentiable() || !c.known_gradients.empty() || c.contiguous_only) continue;
    const std::string wrong = check(c, true);
    expect(wrong.empty(), c.name + ": " + wrong);
  }
}

TEST("gradients where there is no derivative are those of PyTorch") {
  for (const OperatorCase& c : chosen_cases()) {
    if (c.known_gradients.empty()) continue;
    const std::vector<Tensor> inputs = c.inputs();
    const std::vector<Tensor> results = c.run(inputs);
    std::vector<Tensor> leaves, roots, cotangents;
    for (const Tensor& input : inputs)
      if (input.requires_grad()) leaves.push_back(input);
    for (const Tensor& result : results) {
      if (!result.requires_grad()) continue;
      roots.push_back(result);
      cotangents.push_back(ones_like(result));
    }
    const std::vector<Tensor> gradients = autograd::grad(roots, leaves, cotangents);
    if (!expect_equal(gradients.size(), c.known_gradients.size())) continue;
    for (size_t i = 0; i < gradients.size(); ++i)
      expect(expect_near(gradients[i].contiguous().to_vector<double>(), c.known_gradients[i]), c.name);
  }
}

TEST("the joined form of indexes has right gradients") {
  const Tensor x = floats({3, 4});
  const std::string wrong = gradcheck(
      [](const std::vector<Tensor>& t) -> std::vector<Tensor> {
        return {t[0](Slice(1, {}), 2) * t[0](1, 1), t[0][-1]};
      },
      {x});
  expect(wrong.empty(), wrong);
}
