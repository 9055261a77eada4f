// Random programs: eager mode, jit and jit with other executors must give the same values and gradients for every
// program. tools/fuzz programs compares them with PyTorch.
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include <fulgurite/fulgurite.h>

#include "support/cases/operator_cases.h"
#include "support/programs/random_program.h"
#include "support/test.h"

namespace fulgurite {

namespace {

using test::draw_random_program;
using test::RandomProgram;

constexpr unsigned program_count = 200;

/// The results of a run and the gradients of its inputs; those are undefined where no gradient flows.
struct Outcome {
  std::vector<Tensor> results, gradients;
};

using Program = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

Outcome run(const Program& program, const std::vector<Tensor>& inputs) {
  manual_seed(test::case_seed);
  Outcome out;
  out.results = program(inputs);
  Tensor total;
  for (const Tensor& result : out.results) {
    if (!result.requires_grad()) continue;
    const Tensor share = sum(result * result);
    total = total.defined() ? total + share : share;
  }
  if (total.defined()) total.backward();
  for (const Tensor& input : inputs) {
    out.gradients.push_back(input.grad());
    input.set_grad({});
  }
  return out;
}

// Exact: f64 holds whatever an f32 or a small integer is.
std::vector<double> numbers_of(const Tensor& x) { return x.detach().to(Dtype::f64).contiguous().to_vector<double>(); }

bool has_same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  const std::vector<double> x = numbers_of(a), y = numbers_of(b);
  return x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

bool is_near(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (!(a.shape() == b.shape())) return false;
  const std::vector<double> x = numbers_of(a), y = numbers_of(b);
  double largest = 1;
  for (const double value : y) largest = std::fmax(largest, std::fabs(value));
  for (size_t i = 0; i < x.size(); ++i)
    if (!(std::fabs(x[i] - y[i]) <= 2e-5 * largest)) return false;
  return true;
}

void expect_same(const Outcome& actual, const Outcome& expected, const std::string& what) {
  if (!expect_equal(actual.results.size(), expected.results.size())) return;
  for (size_t i = 0; i < actual.results.size(); ++i)
    expect(has_same_bits(actual.results[i], expected.results[i]), what + ": result " + std::to_string(i) + " differs");
  // Gradients are sums over the ways that lead to an input, which the engine and the trace may add in another order.
  for (size_t i = 0; i < actual.gradients.size(); ++i)
    expect(is_near(actual.gradients[i], expected.gradients[i]), what + ": gradient " + std::to_string(i) + " differs");
}

}  // namespace

TEST("random programs do the same eagerly and compiled, with every stage of their traces in order") {
  int with_gradient = 0;
  for (unsigned number = 1; number <= program_count; ++number) {
    const RandomProgram program = draw_random_program(number, Dtype::f32);
    const std::vector<Tensor> inputs = program.inputs();
    const std::string name = "program " + std::to_string(number);
    try {
      const Outcome eager = run(program, inputs);
      with_gradient += eager.gradients[0].defined();
      const auto function = [program](std::vector<Tensor> tensors) { return program(tensors); };
      const auto compiled = jit(function, {.debug = {.check_traces = true}});
      expect_same(run(compiled, inputs), eager, name + ", jit");
      const auto compiled_for_eager = jit(function, {.executors = {"eager"}, .debug = {.check_traces = true}});
      expect_same(run(compiled_for_eager, inputs), eager, name + ", jit with the eager executor");
      // A second run reuses the frame of the first.
      expect_same(run(compiled, inputs), eager, name + ", jit again");
      expect_equal(cache_misses(compiled), 1);
    } catch (const std::exception& error) {
      test::fail(name + ": " + error.what());
    }
  }
  expect(with_gradient > static_cast<int>(program_count) / 2, "most programs have gradients");
}

TEST("random programs give the same gradients as part of a compiled function") {
  for (unsigned number = 1; number <= program_count; number += 4) {
    const RandomProgram program = draw_random_program(number, Dtype::f32);
    const auto loss = [program](std::vector<Tensor> inputs) {
      Tensor total;
      for (const Tensor& result : program(inputs)) {
        if (!is_floating(result.dtype())) continue;
        const Tensor share = sum(result * result);
        total = total.defined() ? total + share : share;
      }
      return total;
    };
    try {
      const std::vector<Tensor> inputs = program.inputs();
      const NoGrad no_grad;
      manual_seed(test::case_seed);
      const std::vector<Tensor> eager = grad(loss)(inputs);
      manual_seed(test::case_seed);
      const std::vector<Tensor> compiled = jit(grad(loss), {.debug = {.check_traces = true}})(inputs);
      for (size_t i = 0; i < eager.size(); ++i)
        expect(has_same_bits(compiled[i], eager[i]),
               "program " + std::to_string(number) + ": gradient " + std::to_string(i));
    } catch (const std::exception& error) {
      test::fail("program " + std::to_string(number) + ": " + error.what());
    }
  }
}

}  // namespace fulgurite
