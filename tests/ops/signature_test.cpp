// The records of operators.
#include <set>
#include <string>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

TEST("a signature is parsed") {
  const Signature signature(
      "torch.sum(Tensor input, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor");
  expect_equal(signature.qualified_name, "torch.sum");
  expect_equal(signature.name, "sum");
  expect_equal(signature.parameter_count, 4);
  expect_equal(signature.parameters[1].type, Parameter::Type::integers);
  expect(signature.parameters[1].optional);
  expect_equal(signature.parameters[1].default_text, "None");
  expect_equal(signature.parameters[2].default_text, "False");
  expect(!signature.parameters[2].keyword_only);
  expect(signature.parameters[3].keyword_only);
  expect_equal(signature.result_count, 1);
  expect_equal(Signature("f(Tensor x) -> (Tensor, Tensor)").result_count, 2);
  expect_equal(Signature("f(Tensor x) -> Tensor[]").result_count, Signature::list);
  expect_equal(Signature("f(Tensor x) -> ()").result_count, 0);
}

TEST("a misspelled signature is refused") {
  for (const std::string_view spelling : {"f(Tensr x) -> Tensor", "f(Tensor) -> Tensor", "f(Tensor x)",
                                          "f(Tensor x) -> Tensor ?", "f(Tensor x int y) -> Tensor"}) {
    bool refused = false;
    try {
      const Signature signature(spelling);
    } catch (const char*) {
      refused = true;
    }
    expect(refused, std::string(spelling));
  }
}

TEST("every operator has a unique name, a documented purpose and rules") {
  std::set<std::string_view> names;
  for (const Symbol* symbol : symbols()) {
    const std::string name(symbol->qualified_name());
    expect(names.insert(symbol->qualified_name()).second, name + " is there twice");
    expect(!symbol->documentation.empty(), name + " has no documentation");
    expect(symbol->documentation.find('\n') == std::string_view::npos, name + "'s documentation is longer than a line");
    if (symbol->traits.structural) continue;
    expect(symbol->infer || symbol->decompose, name + " has neither a shape rule nor a decomposition");
    expect(symbol->gradient || symbol->decompose || symbol->traits.not_differentiable,
           name + " is differentiable but has no gradient rule");
  }
}

TEST("operators are found by short and full names") {
  expect_equal(find_symbol("sum"), find_symbol("torch.sum"));
  expect_equal(find_symbol("gelu"), find_symbol("torch.nn.functional.gelu"));
  expect_equal(find_symbol("nn.functional.gelu"), find_symbol("gelu"));
  expect_equal(find_symbol("torch.relu"), find_symbol("nn.functional.relu"));
  expect_equal(find_symbol("prims.mul"), find_symbol("mul"));
  expect_different(find_symbol("linalg.vector_norm"), nullptr);
  expect_equal(find_symbol("vector_norm"), find_symbol("linalg.vector_norm"));
  expect_equal(find_symbol("no_such_operator"), nullptr);
  expect(find_symbol("prims.std") == nullptr, "std is not a primitive");
}
