// The fusing executor of row_fuser.h on a function with a GEMM, and on its backward.
#include <cstdio>

#include <fulgurite/fulgurite.h>

#include "row_fuser.h"

namespace fg = fulgurite;

namespace {

fg::Tensor layer(fg::Tensor x, fg::Tensor w, fg::Tensor b) {
  const fg::Tensor bent = fg::tanh(fg::matmul(x, w) + b);
  return bent * fg::sigmoid(x * 2.0) + 1.0;
}

int fusions_in(const fg::Trace& trace) {
  int count = 0;
  for (const fg::BoundSymbol& line : trace.bound_symbols) count += line.is_fusion();
  return count;
}

}  // namespace

int main() {
  fg::register_executor(row_fuser::make("row_fuser"));
  const auto f = fg::jit(layer, {.executors = {"row_fuser"}});
  fg::manual_seed(1);
  const fg::Tensor x = fg::randn({6, 6}).requires_grad_(), w = fg::randn({6, 6}).requires_grad_(), b = fg::randn({6});
  const fg::Tensor fused = f(x, w, b);
  fg::sum(fused * fused).backward();
  const fg::Tensor x_slope = x.grad(), w_slope = w.grad();
  std::puts(fg::print(fg::last_traces(f).back(), {.time = false}).c_str());

  x.set_grad({});
  w.set_grad({});
  const fg::Tensor eager = layer(x, w, b);
  fg::sum(eager * eager).backward();
  const auto are_near = [](const fg::Tensor& a, const fg::Tensor& c) {
    return fg::max(fg::abs(a - c)).item<float>() < 1e-4f;
  };
  const int forward = fusions_in(fg::last_traces(f).back()), backward = fusions_in(fg::last_backward_traces(f).back());
  std::printf("%d fusion(s) in the forward, %d in the backward\n", forward, backward);
  const bool is_right = are_near(fused, eager) && are_near(x_slope, x.grad()) && are_near(w_slope, w.grad());
  std::puts(is_right ? "the fusions compute what eager mode does" : "wrong");
  return is_right && forward == 1 && backward > 0 ? 0 : 1;
}
