#include <fulgurite/fulgurite.h>
#include <iostream>
namespace fg = fulgurite;

fg::Tensor mlp(fg::Tensor x, fg::Tensor w1, fg::Tensor w2) { return fg::matmul(fg::gelu(fg::matmul(x, w1)), w2); }

int main() {
  auto x = fg::randn({64, 256}), w1 = fg::randn({256, 1024}).requires_grad_(),
       w2 = fg::randn({1024, 256}).requires_grad_();
  auto f = fg::jit(mlp);              // recorded and compiled at the first call, cached after it
  auto loss = fg::sum(f(x, w1, w2));  // eager and compiled code mix freely
  loss.backward();                    // runs the compiled backward of f
  std::cout << fg::last_traces(f).back() << fg::last_backward_traces(f).back();
}
