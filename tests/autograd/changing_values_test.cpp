// Eager calls whose sizes and scalars change from call to call.
#include <fulgurite/autograd.h>
#include <fulgurite/compiled_autograd.h>
#include <fulgurite/operators.h>

#include "autograd/eager/eager_function.h"
#include "ops/generated/symbols.h"
#include "support/test.h"

namespace fulgurite {

namespace {

std::vector<float> values_of(const Tensor& tensor) { return tensor.contiguous().to_vector<float>(); }

/// d/dx of sum(x * number), for an operator call of its own.
EagerCall call_of(const Tensor& x, double number) {
  const Argument arguments[] = {Argument(x), Argument(Float(number))};
  return eager_function(mul_symbol, arguments, SourceLocation::here());
}

}  // namespace

TEST("calls that differ in numbers share a function from the fourth on") {
  const Tensor x = ones({3, 7}).requires_grad_();
  std::vector<EagerCall> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(call_of(x, 100.5 + i));
  expect(calls[0].function != calls[1].function, "the first ones have their own");
  for (size_t i = 5; i < calls.size(); ++i) expect(calls[i].function == calls[4].function, "later ones share one");
  expect_equal(calls[6].values.size(), size_t{3});  // two sizes and a number
  expect(call_of(x, 101.5).function == calls[1].function, "a number that has a function of its own uses that");
}

TEST("calls that differ in sizes share a function from the fourth on") {
  std::vector<EagerCall> calls;
  for (int64_t i = 0; i < 8; ++i) calls.push_back(call_of(ones({2 + i, 3, 11}).requires_grad_(), 2.5));
  for (size_t i = 5; i < calls.size(); ++i) expect_equal(calls[i].function, calls[4].function);
}

TEST("gradients of calls whose sizes and numbers change") {
  for (int64_t i = 0; i < 12; ++i) {
    const int64_t rows = 2 + i;
    const double number = 0.5 + static_cast<double>(i);
    const Tensor x = full({rows, 4}, 0.5).requires_grad_(), w = full({4, 6}, 0.25).requires_grad_();
    sum(matmul(x, w) * number).backward();
    expect_near(values_of(x.grad()),
                std::vector<float>(static_cast<size_t>(4 * rows), static_cast<float>(6 * 0.25 * number)));
    expect_near(values_of(w.grad()),
                std::vector<float>(24, static_cast<float>(0.5 * number * static_cast<double>(rows))));

    const Tensor y = full({rows, 5}, 2.).requires_grad_();
    mean(relu(y - number)).backward();
    const float slope = number < 2 ? 1.F / static_cast<float>(5 * rows) : 0.F;
    expect_near(values_of(y.grad()), std::vector<float>(static_cast<size_t>(5 * rows), slope));

    const Tensor z = full({rows, 3}, 3.).requires_grad_();
    sum(z.transpose(0, 1).reshape({3 * rows}) * i).backward();
    expect_near(values_of(z.grad()), std::vector<float>(static_cast<size_t>(3 * rows), static_cast<float>(i)));
  }
}

TEST("a number that decides what is computed") {
  for (const double exponent : {0.5, 1.5, 2.5, 3.5, 0., 1., 2., 3., 4.5, 0., 2., 5.5}) {
    const Tensor x = full({2, 3}, 4.).requires_grad_();
    sum(pow(x, exponent)).backward();
    expect_near(values_of(x.grad()), std::vector<float>(6, static_cast<float>(exponent * std::pow(4., exponent - 1))));
  }
}

TEST("second derivatives of calls whose sizes and numbers change") {
  for (int64_t i = 0; i < 8; ++i) {
    const Tensor x = full({3 + i}, 2.).requires_grad_();
    const double number = 1.5 + static_cast<double>(i);
    const auto first = autograd::grad(sum(x * x * x * number), x, {}, {.create_graph = true});
    const auto second = autograd::grad(sum(first[0]), x);
    expect_near(values_of(second[0]), std::vector<float>(static_cast<size_t>(3 + i), static_cast<float>(12 * number)));
  }
}

TEST("captured backwards of calls whose sizes and numbers change") {
  for (int64_t i = 0; i < 8; ++i) {
    const Tensor x = full({3 + i, 2}, 2.).requires_grad_();
    const double number = 2.5 + static_cast<double>(i);
    const Tensor loss = sum(exp(x * 0) * x * number);
    const auto scope = compiled_autograd::enable();
    loss.backward();
    expect_near(values_of(x.grad()), std::vector<float>(static_cast<size_t>(2 * (3 + i)), static_cast<float>(number)));
  }
}

}  // namespace fulgurite
