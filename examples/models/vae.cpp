// A variational autoencoder of images of 28 x 28 pixels: binary cross entropy and the divergence from a normal prior.
#include "training.h"

using namespace example;

namespace {

struct Vae {
  nn::Linear encoder{784, 400}, mean{400, 20}, log_variance{400, 20}, hidden{20, 400}, decoder{400, 784};

  fg::Tensor loss(const fg::Tensor& x, const fg::Tensor& noise) const {
    const auto code = fg::relu(encoder(x));
    const auto mu = mean(code), log_var = log_variance(code);
    const auto z = mu + noise * fg::exp(0.5 * log_var);
    const auto scores = decoder(fg::relu(hidden(z)));
    const auto reconstruction = nn::binary_cross_entropy_with_logits(scores, x, {.reduction = "sum"});
    const auto divergence = -0.5 * fg::sum(1 + log_var - mu * mu - fg::exp(log_var));
    return (reconstruction + divergence) / 128;
  }
};

fg::Tensor loss_of(Vae model, fg::Tensor x, fg::Tensor noise) { return model.loss(x, noise); }

}  // namespace

int main(int argc, char** argv) {
  fg::manual_seed(0);
  Vae model;
  fg::optim::Adam optimizer(nn::parameters(model), {.lr = 1e-3});
  const auto loss = fg::jit(loss_of);
  const Batch batch{{"x", (fg::rand({128, 784}) > 0.8).to(fg::Dtype::f32)}, {"noise", fg::randn({128, 20})}};
  return train(argc, argv, model, batch, [&](Batch& b) { return descend(loss(model, b["x"], b["noise"]), optimizer); });
}
