// Every operator's gradient against central differences, to second order, on each of its cases.
#include "support/gradcheck.h"
#include "support/operator_cases.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// What the gradcheck of a case says: "" or what is wrong.
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

TEST("every operator has a case, and a differentiable one with a gradient") {
  for (const Symbol* symbol : symbols()) {
    if (!needs_case(*symbol)) continue;
    bool any = false, differentiable = symbol->traits.not_differentiable;
    for (const OperatorCase& c : operator_cases()) {
      if (c.symbol != symbol) continue;
      any = true;
      differentiable = differentiable || c.is_differentiable();
    }
    const std::string name(symbol->qualified_name());
    expect(any, name + " has no case in tests/support/*_cases.cpp");
    expect(differentiable || !any, name + " is differentiable and has no case with an input that requires grad");
  }
}

TEST("operators have right gradients of both orders") {
  for (const OperatorCase& c : operator_cases()) {
    if (!c.is_differentiable() || c.no_differences) continue;
    const std::string wrong = check(c, false);
    expect(wrong.empty(), c.name + ": " + wrong);
  }
}

TEST("operators have right gradients of both orders where tensors are transposed in memory") {
  for (const OperatorCase& c : operator_cases()) {
    if (!c.is_differentiable() || c.no_differences || c.contiguous_only) continue;
    const std::string wrong = check(c, true);
    expect(wrong.empty(), c.name + ": " + wrong);
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
