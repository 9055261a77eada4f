// Results that reuse an operand's buffer.
#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "runtime/plan/execution_plan.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr int64_t rows = 300, columns = 1000, bytes = rows * columns * 4;

// Compares two runs with eager mode, and returns the number of rows-by-columns arrays in its arena.
template <class Function>
double arrays_of(const std::vector<std::string>& executors, Function function, const Tensor& x) {
  const NoGrad no_grad;
  const auto jitted = jit(function, {.executors = executors, .debug = {.check_traces = true}});
  const Tensor before = x.clone(), expected = function(x);
  for (int call = 0; call < 2; ++call) {
    const Tensor found = jitted(x);
    expect_near(found.to_vector<float>(), expected.to_vector<float>(), 1e-5);
    expect(x.to_vector<float>() == before.to_vector<float>(), "an input was written to");
  }
  return static_cast<double>(make_execution_plan(last_traces(jitted).back()).arena_bytes) / bytes;
}
double arrays_of(const std::vector<std::string>& executors, Tensor (*function)(Tensor)) {
  return arrays_of(executors, function, rand({rows, columns}) - 0.5);
}
const std::vector<std::string> eager{"eager"}, fuser{"fuser", "eager"};

}  // namespace

TEST("ops of a chain that kernels run one by one share one memory") {
  manual_seed(1);
  expect_equal(arrays_of(eager, [](Tensor x) { return exp(sin(cos(x * 2.0))) + 1.0; }), 1.0);
  expect_equal(arrays_of(eager,
                         [](Tensor x) {
                           return reshape(sin(reshape(cos(x), {columns, rows})), {rows, columns}) * x;
                         }),
               1.0);
}

TEST("a value that is read later, by another name too, is not overwritten") {
  manual_seed(2);
  expect_equal(arrays_of(eager,
                         [](Tensor x) {
                           const Tensor a = sin(x), b = exp(a);
                           return b * a;
                         }),
               2.0);
  const auto by_view = [](Tensor x) {
    const Tensor a = sin(x), t = transpose(a, 0, 1), b = exp(a);
    return matmul(b, t);
  };
  expect_equal(arrays_of(eager, +by_view), 2.0);
  const auto by_both_names = [](Tensor x) {
    const Tensor a = sin(matmul(x, transpose(x, 0, 1)));
    return cos(a + transpose(a, 0, 1));
  };
  expect_equal(arrays_of(eager, +by_both_names), 2.0 * rows / columns);
}

TEST("numbers of other sizes, broadcast operands and parts of a value have memory of their own") {
  manual_seed(3);
  expect_equal(arrays_of(eager, [](Tensor x) { return (sin(x).to(Dtype::f64) * 2.0).to(Dtype::f32) + 1.0; }), 3.0);
  expect_greater(arrays_of(eager, [](Tensor x) { return sin(narrow(cos(x), 0, 0, 1)) + x; }), 1.0);
  expect_equal(arrays_of(eager, [](Tensor x) { return sin(narrow(cos(x), 0, 0, rows / 2)) + 1.0; }), 1.0 + 0.5);
}

TEST("a fusion of several sweeps writes over what its last one reads") {
  manual_seed(4);
  const auto by_rows = [](Tensor x) {
    const Tensor m = matmul(x, transpose(x, 0, 1));
    return matmul(softmax(m, -1) * m, x);
  };
  expect_equal(arrays_of(fuser, +by_rows), 1.0 * rows / columns);
  const auto normalized = [](Tensor x) {
    const Tensor m = matmul(x, transpose(x, 0, 1));
    return matmul(nn::layer_norm(m, {rows}), x);
  };
  expect_equal(arrays_of(fuser, +normalized), 1.0 * rows / columns);
}

TEST("a fusion does not overwrite a value that it reads again or gathers from") {
  manual_seed(5);
  const auto twice = [](Tensor x) {
    const Tensor m = matmul(x, transpose(x, 0, 1)), doubled = m * 2.0, shares = softmax(m, -1);
    return matmul(doubled, x) + matmul(shares, x);
  };
  arrays_of(fuser, +twice);
  const NoGrad no_grad;
  const Tensor targets = randint(0, rows, {rows});
  const auto gradient = [targets](Tensor x) {
    const auto loss = [](Tensor m, Tensor targets) { return nn::cross_entropy(m, targets, {}, {}, -100, {}, "sum"); };
    const Tensor m = matmul(x, transpose(x, 0, 1));
    const auto [value, slope] = value_and_grad(loss)(m, targets);
    return matmul(slope, x) + value;
  };
  arrays_of(fuser, gradient, rand({rows, columns}) - 0.5);
}

TEST("scattered writes to a value that is not read again are done in place") {
  manual_seed(6);
  const NoGrad no_grad;
  const Tensor places = randint(0, rows, {7}), values = rand({7, columns});
  const auto put = [places, values](Tensor x) { return index_add(sin(x), 0, places, values) * 2.0; };
  expect_equal(arrays_of(eager, put, rand({rows, columns})), 1.0);
  const auto kept = [places, values](Tensor x) {
    const Tensor a = sin(x);
    return index_add(a, 0, places, values) * a;
  };
  expect_equal(arrays_of(eager, kept, rand({rows, columns})), 2.0);
}
