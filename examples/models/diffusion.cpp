// A diffusion model of points in the plane: predicts the noise in a point of a spiral, given how much there is.
#include "training.h"

using namespace example;

namespace {

constexpr int64_t times = 100, points = 1024, width = 256;

struct Denoiser {
  nn::Linear input{2 + 64, width}, hidden1{width, width}, hidden2{width, width}, output{width, 2};

  // The sines and cosines of a time.
  static fg::Tensor embedded(const fg::Tensor& time) {
    const auto rates = fg::exp(fg::arange(32).to(fg::Dtype::f32) * (-std::log(1000.0) / 32));
    const auto angles = time.to(fg::Dtype::f32).unsqueeze(1) * rates;
    return fg::cat({fg::sin(angles), fg::cos(angles)}, 1);
  }
  fg::Tensor operator()(const fg::Tensor& x, const fg::Tensor& time) const {
    const auto h1 = fg::silu(input(fg::cat({x, embedded(time)}, 1)));
    const auto h2 = h1 + fg::silu(hidden1(h1));
    const auto h3 = h2 + fg::silu(hidden2(h2));
    return output(h3);
  }
};

fg::Tensor loss_of(Denoiser model, fg::Tensor x, fg::Tensor time, fg::Tensor noise, fg::Tensor kept) {
  const auto of_time = fg::index_select(kept, 0, time).unsqueeze(1);  // the share of the signal that is left
  const auto noisy = fg::sqrt(of_time) * x + fg::sqrt(1 - of_time) * noise;
  return nn::mse_loss(model(noisy, time), noise);
}

}  // namespace

int main(int argc, char** argv) {
  fg::manual_seed(0);
  Denoiser model;
  fg::optim::Adam optimizer(nn::parameters(model), {.lr = 1e-3});
  const auto loss = fg::jit(loss_of);
  const auto angle = fg::rand({points}) * 12;
  const auto along = fg::stack({fg::cos(angle) * angle / 12, fg::sin(angle) * angle / 12}, 1);
  const auto kept = fg::cumprod(1 - fg::linspace(1e-4, 0.05, times), 0);
  const Batch batch{
      {"x", along}, {"time", fg::randint(0, times, {points})}, {"noise", fg::randn({points, 2})}, {"kept", kept}};
  return train(argc, argv, model, batch,
               [&](Batch& b) { return descend(loss(model, b["x"], b["time"], b["noise"], b["kept"]), optimizer); });
}
