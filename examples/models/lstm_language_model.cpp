// A language model of two LSTM layers: predicts each next token of 16 sequences.
#include "training.h"

using namespace example;

namespace {

struct LanguageModel {
  nn::Embedding embedding{64, 128};
  nn::LSTM lstm{128, 256, {.num_layers = 2, .batch_first = true}};
  nn::Linear head{256, 64};

  fg::Tensor operator()(const fg::Tensor& tokens) const {
    const auto [states, last] = lstm(embedding(tokens));
    return head(states);
  }
};

fg::Tensor loss_of(LanguageModel model, fg::Tensor x, fg::Tensor y) {
  return nn::cross_entropy(fg::flatten(model(x), 0, 1), fg::flatten(y));
}

}  // namespace

int main(int argc, char** argv) {
  fg::manual_seed(0);
  LanguageModel model;
  fg::optim::Adam optimizer(nn::parameters(model), {.lr = 2e-3});
  const auto loss = fg::jit(loss_of);
  const Batch batch{{"x", fg::randint(0, 64, {16, 32})}, {"y", fg::randint(0, 64, {16, 32})}};
  return train(argc, argv, model, batch, [&](Batch& b) { return descend(loss(model, b["x"], b["y"]), optimizer); });
}
