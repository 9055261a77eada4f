#include <fulgurite/operators.h>

#include "ir/analysis/uses.h"
#include "ir/substitution.h"
#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Trace diamond() {
  return record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = sin(x[0]);
    const Tensor b = exp(a);
    return {mul(a, b)};
  });
}

}  // namespace

TEST("Uses knows producers, consumers and last uses") {
  const Trace trace = diamond();
  const Uses uses(trace);
  const int argument = trace.args[0].tensor().id, a = trace.bound_symbols[0].outputs[0].tensor().id,
            result = trace.bound_symbols[2].outputs[0].tensor().id;
  expect_equal(uses.producer(argument), -1);
  expect_equal(uses.producer(a), 0);
  expect_equal(uses.last_use(a), 2);
  expect_equal(uses.last_use(result), 3);
  const auto consumers = uses.consumers(a);
  expect_equal(std::vector<int>(consumers.begin(), consumers.end()), std::vector<int>{1, 2});
}

TEST("a symbol that uses a value twice is one consumer") {
  const Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> { return {mul(x[0], x[0])}; });
  expect_equal(Uses(trace).consumers(trace.args[0].tensor().id).size(), 1);
}

TEST("a symbol with a draw inside has an effect") {
  const Trace trace = record({f32({2})}, [](auto& x) -> std::vector<Tensor> {
    const Tensor a = nn::dropout(x[0], 0.5, true);
    return {exp(a)};
  });
  expect(has_effect(trace.bound_symbols[0]));
  expect(!has_effect(trace.bound_symbols[1]));
  expect(has_effect(trace.bound_symbols[2]));
}

TEST("a substitution reaches lists and subsymbols") {
  const Trace trace = diamond();
  const Value a = trace.bound_symbols[0].outputs[0], argument = trace.args[0];
  Substitution substitution(trace.next_id);
  const Value list(std::vector<Value>{a, 3, a});
  expect_equal(substitution.apply(list), list);
  substitution.set(a.tensor().id, argument);
  expect_equal(substitution.apply(list), Value(std::vector<Value>{argument, 3, argument}));
  BoundSymbol nested;
  nested.subsymbols = {trace.bound_symbols[1]};
  substitution.apply(nested);
  expect_equal(nested.subsymbols[0].args[0], argument);
}
