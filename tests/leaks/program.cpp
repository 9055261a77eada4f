// Creates gradients, recorded operators, a compiled function, threads. LeakSanitizer must find no leak.
#include <fulgurite/fulgurite.h>

#include <cstdio>

namespace fg = fulgurite;

int main() {
  fg::set_num_threads(2);
  const auto w = fg::ones({64, 64}).requires_grad_();
  const auto loss = [](fg::Tensor x, fg::Tensor w) { return fg::sum(fg::exp(fg::matmul(x, w))); };
  const auto compiled = fg::jit(loss, {.executors = {"eager"}});
  const auto x = fg::ones({512, 64});
  loss(x, w).backward();
  compiled(x, w).backward();
  std::puts(w.grad().defined() ? "done" : "no gradient");
}
