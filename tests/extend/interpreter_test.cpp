// Interpreters of a program's own: what they see, what they may replace, and where they stand.
#include <algorithm>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

/// Counts the floating-point operations of primitives.
class OperationCounter final : public OperatorInterpreter {
 public:
  std::vector<Tensor> run(const InterpretedCall& call) override {
    if (call.symbol().decompose) return call.decompose();
    std::vector<Tensor> results = call.run();
    operations += call.operations(results);
    return results;
  }
  int64_t operations = 0;
};

/// Notes the names of calls.
class Names final : public OperatorInterpreter {
 public:
  std::vector<Tensor> run(const InterpretedCall& call) override {
    text += std::string(call.symbol().name()) + " ";
    return call.run();
  }
  void read_elements(const Tensor&, std::string_view what, SourceLocation) override {
    text += "[" + std::string(what) + "] ";
  }
  std::string text;
};

/// Replaces sin by cos.
class CosForSin final : public OperatorInterpreter {
 public:
  std::vector<Tensor> run(const InterpretedCall& call) override {
    if (call.symbol().name() == "sin") return {cos(Tensor(call.arguments()[0]))};
    return call.run();
  }
};

class GivesNothing final : public OperatorInterpreter {
 public:
  std::vector<Tensor> run(const InterpretedCall&) override { return {}; }
};

struct Tripled {
  static Tensor forward(autograd::Context&, Tensor x) { return x * 3; }
  static Tensor backward(autograd::Context&, Tensor g) { return g * 3; }
};

Tensor mlp(const Tensor& x, const Tensor& w1, const Tensor& w2) {
  const Tensor hidden = relu(matmul(x, w1));
  return sum(matmul(hidden, w2));
}

int64_t operations_of(const Trace& trace) {
  std::vector<Tensor> inputs;
  for (const Value& arg : trace.args) inputs.push_back(zeros(arg.tensor().shape));
  OperationCounter counter;
  const WithInterpreter scope(counter);
  evaluate(trace, inputs);
  return counter.operations;
}

}  // namespace

TEST("an interpreter counts the same operations of a function, its compiled form and its trace") {
  const Tensor x = ones({8, 16}), w1 = ones({16, 32}), w2 = ones({32, 4});
  const int64_t expected = 2 * 8 * 16 * 32 + 8 * 32 + 2 * 8 * 32 * 4 + 8 * 4;
  const auto f = jit(mlp);
  OperationCounter eager, compiled;
  {
    const WithInterpreter scope(eager);
    mlp(x, w1, w2);
  }
  {
    const WithInterpreter scope(compiled);
    f(x, w1, w2);  // inlined
  }
  expect_equal(eager.operations, expected);
  expect_equal(compiled.operations, expected);
  expect_equal(cache_misses(f), 0);
  f(x, w1, w2);
  expect_equal(operations_of(last_traces(f).front()), expected);
}

TEST("an interpreter inside a traced function sees its calls, and the trace has them") {
  Names names;
  const auto f = jit([&](Tensor x) {
    const Tensor y = sin(x);
    const WithInterpreter scope(names);
    return exp(y) + 1;
  });
  expect_near(f(zeros({2})).to_vector<float>(), {2, 2});
  expect_equal(names.text, "exp add ");
  f(zeros({2}));
  expect_equal(names.text, "exp add ");  // the trace is run, not the function
  const Trace trace = last_traces(f).front();
  std::string ops;
  for (const BoundSymbol& op : trace.bound_symbols) ops += op.name() + " ";
  expect_equal(ops, "sin exp add return ");
}

TEST("calls of an interpreter are passed to the one outside of it, and not to itself") {
  Names outer;
  CosForSin inner;
  const WithInterpreter first(outer);
  Tensor y;
  {
    const WithInterpreter second(inner);
    y = sin(zeros({2}));
  }
  const std::string before = outer.text;
  expect_equal(before, "zeros cos ");
  expect_near(y.to_vector<float>(), {1, 1});
  expect(outer.text != before);
}

TEST("an interpreter is called for elements that are read") {
  Names names;
  const Tensor x = ones({1});
  {
    const WithInterpreter scope(names);
    x.item<float>();
  }
  expect_equal(names.text, "[item()] ");
}

TEST("gradients, writes and custom functions work inside an interpreter") {
  OperationCounter counter;
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor y = zeros({2});
  {
    const WithInterpreter scope(counter);
    const Tensor z = autograd::apply<Tripled>(x);
    sum(z * z).backward();
    y.add_(2);
    y[0].mul_(5);
  }
  expect_near(x.grad().to_vector<float>(), {18, 36});
  expect_near(y.to_vector<float>(), {10, 2});
  expect_equal(counter.operations, 2 + 2 + 2 + 2 + 1);  // x * 3, z * z, sum, add_, mul_
}

TEST("an interpreter that returns too few results is refused") {
  GivesNothing nothing;
  const Tensor x = ones({2});
  const WithInterpreter scope(nothing);
  expect_error([&] { exp(x); }, "exp(cpu f32[2]): the interpreter returned 0 tensors, the operator has 1 results");
}

TEST("errors inside an interpreter are those of the call") {
  OperationCounter counter;
  const Tensor x = ones({2, 3});
  const auto message = [&] {
    try {
      matmul(x, x);
    } catch (const UserError& error) {
      const std::string text = error.what();
      return text.substr(text.find("matmul"));
    }
    return std::string("none");
  };
  const std::string eager = message();
  const WithInterpreter scope(counter);
  expect_equal(message(), eager);
}

TEST("a break ends the subgraph that an interpreter's calls are recorded into") {
  Names names;
  const auto f = jit([&](Tensor x) {
    const WithInterpreter scope(names);
    const Tensor y = x * 2;
    if (y.item<float>() > 1) return y + 1;
    return y - 1;
  });
  expect_near(f(ones({1})).to_vector<float>(), {3});
  expect_equal(names.text, "mul [item()] add ");
}

}  // namespace fulgurite
