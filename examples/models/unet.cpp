// A small U-Net: finds the circles in noisy images, pixel by pixel.
#include "training.h"

using namespace example;

namespace {

struct Block {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm2d norm1, norm2;
  Block() = default;
  Block(int64_t from, int64_t to)
      : conv1(from, to, 3, {.padding = 1, .bias = false}),
        conv2(to, to, 3, {.padding = 1, .bias = false}),
        norm1(to),
        norm2(to) {}
  fg::Tensor operator()(const fg::Tensor& x) const {
    const auto hidden = fg::relu(norm1(conv1(x)));
    return fg::relu(norm2(conv2(hidden)));
  }
  static void parts(auto& block, auto&& member) {
    member("conv1", block.conv1);
    member("conv2", block.conv2);
    member("norm1", block.norm1);
    member("norm2", block.norm2);
  }
};

struct UNet {
  Block down1{1, 16}, down2{16, 32}, bottom{32, 64}, up2{64, 32}, up1{32, 16};
  nn::ConvTranspose2d grow2{64, 32, 2, {.stride = 2}}, grow1{32, 16, 2, {.stride = 2}};
  nn::Conv2d head{16, 1, 1};
  nn::MaxPool2d pool{2};

  fg::Tensor operator()(const fg::Tensor& x) const {
    const auto fine = down1(x);
    const auto middle = down2(pool(fine));
    const auto coarse = bottom(pool(middle));
    const auto joined2 = up2(fg::cat({grow2(coarse), middle}, 1));
    const auto joined1 = up1(fg::cat({grow1(joined2), fine}, 1));
    return head(joined1);
  }
};

fg::Tensor loss_of(UNet model, fg::Tensor x, fg::Tensor y) { return nn::binary_cross_entropy_with_logits(model(x), y); }

// A circle of a random place and size in each image, under noise.
Batch circles() {
  const auto along = fg::arange(64).to(fg::Dtype::f32);
  const auto x = fg::rand({4, 1, 1, 1}) * 40 + 12, y = fg::rand({4, 1, 1, 1}) * 40 + 12;
  const auto radius = fg::rand({4, 1, 1, 1}) * 8 + 4;
  const auto dx = along.reshape({1, 1, 1, 64}) - x, dy = along.reshape({1, 1, 64, 1}) - y;
  const auto mask = (dx * dx + dy * dy < radius * radius).to(fg::Dtype::f32);
  return {{"x", mask + 0.5 * fg::randn({4, 1, 64, 64})}, {"y", mask}};
}

}  // namespace

int main(int argc, char** argv) {
  fg::manual_seed(0);
  UNet model;
  fg::optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-3});
  const auto loss = fg::jit(loss_of);
  return train(argc, argv, model, circles(), [&](Batch& b) { return descend(loss(model, b["x"], b["y"]), optimizer); });
}
