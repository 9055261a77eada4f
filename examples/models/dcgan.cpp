// A generative adversarial network of convolutions: noise to images of 32 x 32 pixels, and a judge of images.
#include "training.h"

using namespace example;

namespace {

struct Generator {
  nn::ConvTranspose2d grow1{64, 128, 4, {.bias = false}};
  nn::BatchNorm2d norm1{128};
  nn::ConvTranspose2d grow2{128, 64, 4, {.stride = 2, .padding = 1, .bias = false}};
  nn::BatchNorm2d norm2{64};
  nn::ConvTranspose2d grow3{64, 32, 4, {.stride = 2, .padding = 1, .bias = false}};
  nn::BatchNorm2d norm3{32};
  nn::ConvTranspose2d grow4{32, 1, 4, {.stride = 2, .padding = 1, .bias = false}};

  fg::Tensor operator()(const fg::Tensor& noise) const {
    const auto x1 = fg::relu(norm1(grow1(noise)));
    const auto x2 = fg::relu(norm2(grow2(x1)));
    const auto x3 = fg::relu(norm3(grow3(x2)));
    return fg::tanh(grow4(x3));
  }
};

struct Discriminator {
  nn::Conv2d conv1{1, 32, 4, {.stride = 2, .padding = 1, .bias = false}};
  nn::Conv2d conv2{32, 64, 4, {.stride = 2, .padding = 1, .bias = false}};
  nn::BatchNorm2d norm2{64};
  nn::Conv2d conv3{64, 128, 4, {.stride = 2, .padding = 1, .bias = false}};
  nn::BatchNorm2d norm3{128};
  nn::Conv2d conv4{128, 1, 4, {.bias = false}};

  fg::Tensor operator()(const fg::Tensor& image) const {
    const auto x1 = nn::leaky_relu(conv1(image), 0.2);
    const auto x2 = nn::leaky_relu(norm2(conv2(x1)), 0.2);
    const auto x3 = nn::leaky_relu(norm3(conv3(x2)), 0.2);
    return fg::flatten(conv4(x3));
  }
};

struct Gan {
  Generator generator;
  Discriminator discriminator;
};

fg::Tensor judged(const fg::Tensor& scores, double label) {
  return nn::binary_cross_entropy_with_logits(scores, fg::full_like(scores, label));
}
fg::Tensor discriminator_loss(Discriminator judge, fg::Tensor real, fg::Tensor fake) {
  const auto of_real = judged(judge(real), 1);
  return of_real + judged(judge(fake), 0);
}
fg::Tensor generator_loss(Discriminator judge, fg::Tensor fake) { return judged(judge(fake), 1); }

}  // namespace

int main(int argc, char** argv) {
  fg::manual_seed(0);
  Gan model;
  // A usual rate is 2e-4; with it, rounding errors of f32 grow to 1e-2 of the losses within 20 steps.
  fg::optim::Adam for_generator(nn::parameters(model.generator), {.lr = 2e-5, .betas = {0.5, 0.999}});
  fg::optim::Adam for_discriminator(nn::parameters(model.discriminator), {.lr = 2e-5, .betas = {0.5, 0.999}});
  const auto generate = fg::jit([](Generator generator, fg::Tensor noise) { return generator(noise); });
  const auto judge_both = fg::jit(discriminator_loss);
  const auto judge_fake = fg::jit(generator_loss);
  const Batch batch{{"real", fg::rand({32, 1, 32, 32}) * 2 - 1}, {"noise", fg::randn({32, 64, 1, 1})}};
  return train(argc, argv, model, batch, [&](Batch& b) {
    const auto fake = generate(model.generator, b["noise"]);
    const auto of_judge =
        descend(judge_both(model.discriminator, b["real"], fake.detach()), for_discriminator).detach();
    return of_judge + descend(judge_fake(model.discriminator, fake), for_generator).detach();
  });
}
