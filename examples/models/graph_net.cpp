// A graph network: each node takes the mean of its neighbours' messages, which are added up by index_add.
#include "training.h"

using namespace example;

namespace {

constexpr int64_t nodes = 2000, edges = 12000, features = 64, classes = 8;

struct Convolution {
  nn::Linear own, message;
  Convolution() = default;
  Convolution(int64_t from, int64_t to) : own(from, to), message(from, to, {.bias = false}) {}
  fg::Tensor operator()(const fg::Tensor& x, const fg::Tensor& from, const fg::Tensor& to,
                        const fg::Tensor& degrees) const {
    const auto messages = fg::index_select(message(x), 0, from);
    const auto sums = fg::index_add(fg::zeros({nodes, messages.shape()[1]}), 0, to, messages);
    return own(x) + sums / degrees;
  }
  static void parts(auto& layer, auto&& member) {
    member("own", layer.own);
    member("message", layer.message);
  }
};

struct GraphNet {
  Convolution first{features, 128}, second{128, classes};
  fg::Tensor loss(const fg::Tensor& x, const fg::Tensor& from, const fg::Tensor& to, const fg::Tensor& y) const {
    const auto ones = fg::ones({edges});
    const auto degrees = fg::clamp_min(fg::index_add(fg::zeros({nodes}), 0, to, ones), 1).unsqueeze(1);
    const auto hidden = fg::relu(first(x, from, to, degrees));
    return nn::cross_entropy(second(hidden, from, to, degrees), y);
  }
};

fg::Tensor loss_of(GraphNet model, fg::Tensor x, fg::Tensor from, fg::Tensor to, fg::Tensor y) {
  return model.loss(x, from, to, y);
}

}  // namespace

int main(int argc, char** argv) {
  fg::manual_seed(0);
  GraphNet model;
  fg::optim::Adam optimizer(nn::parameters(model), {.lr = 1e-2});
  const auto loss = fg::jit(loss_of);
  const Batch batch{{"x", fg::randn({nodes, features})},
                    {"from", fg::randint(0, nodes, {edges})},
                    {"to", fg::randint(0, nodes, {edges})},
                    {"y", fg::randint(0, classes, {nodes})}};
  return train(argc, argv, model, batch,
               [&](Batch& b) { return descend(loss(model, b["x"], b["from"], b["to"], b["y"]), optimizer); });
}
