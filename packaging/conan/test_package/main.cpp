// A program outside the project: it sees the installed headers and library alone.
#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include <cmath>
#include <iostream>

int main() {
  namespace fg = fulgurite;
  const auto x = fg::randn({3, 4});
  const auto w = fg::randn({4, 2}).requires_grad_();
  const auto f = fg::jit([](fg::Tensor x, fg::Tensor w) { return fg::sum(fg::gelu(fg::matmul(x, w))); });
  const auto loss = f(x, w);
  loss.backward();
  std::cout << fg::last_traces(f).back() << loss << w.grad();
  return std::isfinite(loss.item<double>()) && w.grad().defined() ? 0 : 1;
}
