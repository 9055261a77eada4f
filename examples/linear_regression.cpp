// Fits a line to noisy points. The whole step (loss, gradient, update) is one compiled function.
#include <fulgurite/fulgurite.h>
#include <iostream>
namespace fg = fulgurite;

struct Line {
  fg::Tensor slope, offset;
  fg::Tensor operator()(const fg::Tensor& x) const { return slope * x + offset; }
};

int main() {
  fg::manual_seed(1);
  const auto x = fg::rand({100, 1});
  const auto y = 3 * x - 1 + 0.05 * fg::randn({100, 1});

  const Line line{fg::zeros({1}).requires_grad_(), fg::zeros({1}).requires_grad_()};
  fg::optim::SGD optimizer(fg::nn::parameters(line), {.lr = 0.1, .momentum = 0.9});
  const auto loss_of = [](Line line, fg::Tensor x, fg::Tensor y) { return fg::nn::mse_loss(line(x), y); };
  const auto step = fg::jit([&](fg::Tensor x, fg::Tensor y) {
    const auto [loss, gradient] = fg::value_and_grad(loss_of)(line, x, y);
    optimizer.step({gradient.slope, gradient.offset});
    return loss;
  });

  const fg::NoGrad no_grad;  // the gradient is part of the step
  for (int i = 0; i <= 200; ++i) {
    const auto loss = step(x, y);
    if (i % 50 == 0) std::cout << "step " << i << ": loss " << loss.item<double>() << "\n";
  }
  const double slope = line.slope.item<double>(), offset = line.offset.item<double>();
  std::cout << "y = " << slope << " x + " << offset << "\n";
  return slope > 2.8 && slope < 3.2 && offset > -1.2 && offset < -0.8 ? 0 : 1;
}
