// An operator of one's own: a kernel over the elements, and its gradient.
#include <cmath>
#include <cstdio>

#include <fulgurite/fulgurite.h>

namespace fg = fulgurite;

// softsign(x) = x / (1 + |x| / s)
fg::Tensor run_softsign(const fg::Tensor& x, double s) {
  const fg::Tensor in = x.contiguous();
  fg::Tensor out = fg::empty(in.shape());
  const float* from = in.data<float>();
  float* to = out.data<float>();
  const int64_t count = in.numel();
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] / (1 + std::fabs(from[i]) / static_cast<float>(s));
  return out;
}

// Gradients are written with operators, so they can be compiled and differentiated again.
fg::Tensor softsign_gradient(const fg::Tensor& x, double s) {
  fg::Tensor y = fg::call("example::softsign", {x, s});
  const fg::Tensor g = fg::get_grad(y);
  const fg::Tensor slope = fg::pow(1 + fg::abs(x) / s, -2);
  fg::put_grad(x, g * slope);
  return y;
}

int main() {
  const fg::OperatorExecutor executor("example");
  const auto softsign = executor.register_operator(
      "example::softsign(Tensor x, float s=1.0) -> Tensor", run_softsign,
      {.checker = [](const fg::Tensor& x, double s) { return x.dtype() == fg::Dtype::f32 && s > 0; },
       .grad_transform = softsign_gradient,
       .infer = [](const fg::Tensor& x, double) { return fg::empty_like(x); }});

  fg::manual_seed(1);
  const fg::Tensor x = fg::randn({3, 4}).requires_grad_();
  softsign(x, 2.0).sum().backward();  // eager
  const fg::Tensor eager = x.grad();

  x.set_grad({});
  const auto f = fg::jit([softsign](fg::Tensor t) { return softsign(t, 2.0).sum(); });  // compiled
  f(x).backward();
  std::printf("%s\n%s\n", fg::last_traces(f).back().cpp().c_str(), fg::last_backward_traces(f).back().cpp().c_str());

  const double step = 1e-2;
  const double slope = ((softsign(x + step, 2.0) - softsign(x - step, 2.0)).sum() / (2 * step)).item<double>();
  const double found = x.grad().sum().item<double>();
  const double difference = fg::abs(x.grad() - eager).max().item<double>();
  std::printf("sum of the gradient %.4f, by differences %.4f; eager and compiled differ by %g\n", found, slope,
              difference);
  return std::fabs(found - slope) < 1e-2 && difference == 0 ? 0 : 1;
}
