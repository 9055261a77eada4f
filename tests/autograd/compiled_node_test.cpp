#include "autograd/compiled/compiled_node.h"

#include <fulgurite/autograd.h>
#include <fulgurite/operators.h>

#include "pipeline/pipeline.h"
#include "support/test.h"
#include "tracing/tracer.h"

using namespace fulgurite;

namespace {

std::vector<float> values(const Tensor& t) { return t.contiguous().to_vector<float>(); }

// sin(exp(x)) * w: saves values made inside.
Tensor body(const Tensor& x, const Tensor& w) { return sin(exp(x)) * w; }

// Compiles and runs a function as jit does.
Tensor run_compiled(const Tensor& x, const Tensor& w) {
  CompiledFunction compiled;
  {
    Tracer tracer;
    const InterpreterScope scope(&tracer);
    const Tensor a = tracer.add_argument({x.shape(), x.dtype(), {}}, true, "");
    const Tensor b = tracer.add_argument({w.shape(), w.dtype(), {}}, true, "");
    const Tensor y = body(a, b);
    const Trace recorded = tracer.finish(tracer.value_of(y));
    const InterpreterScope eager(nullptr);
    compiled = compile(recorded, true);
  }
  const Tensor inputs[] = {x, w};
  std::vector<Tensor> results;
  compiled.forward->run(inputs, results);
  std::vector<Tensor> saved(results.begin() + 1, results.end());
  results.resize(1);
  attach_compiled_node(inputs, results, std::move(saved), compiled.backward, "CompiledBackward", compiled.forward);
  return results[0];
}

}  // namespace

TEST("a compiled function's backward runs inside the eager graph") {
  const Tensor x = tensor(std::vector<float>{0.1f, 0.2f}).requires_grad_(),
               w = tensor(std::vector<float>{2, 3}).requires_grad_();
  const Tensor scaled = x * 2;
  sum(run_compiled(scaled, w)).backward();
  const std::vector<float> dx = values(x.grad()), dw = values(w.grad());
  x.set_grad({});
  w.set_grad({});
  const Tensor again = x * 2;
  sum(body(again, w)).backward();
  expect_near(dx, values(x.grad()));
  expect_near(dw, values(w.grad()));
}

TEST("a compiled function is differentiated twice, through values made inside it") {
  const Tensor x = tensor(std::vector<float>{0.1f, 0.2f}).requires_grad_(),
               w = tensor(std::vector<float>{2, 3}).requires_grad_();
  const auto second = [&](const Tensor& y) {
    const Tensor first = autograd::grad(sum(y), x, {}, {.create_graph = true})[0];
    return autograd::grad(sum(first * first), {x, w});
  };
  const auto compiled = second(run_compiled(x, w)), eager = second(body(x, w));
  expect_near(values(compiled[0]), values(eager[0]), 1e-5);
  expect_near(values(compiled[1]), values(eager[1]), 1e-5);
}

TEST("a compiled function's second backward needs retain_graph") {
  const Tensor x = ones({2}).requires_grad_(), w = ones({2}).requires_grad_();
  const Tensor y = sum(run_compiled(x, w));
  y.backward();
  expect_error([&] { y.backward(); }, "a second time");
}
