// A Transformer with an encoder and a decoder that learns to translate: here to write a sentence of numbers backwards.
#include "training.h"

using namespace example;

namespace {

constexpr int64_t words = 32, width = 128, length = 16;

struct Translator {
  nn::Embedding source{words, width}, target{words, width};
  fg::Tensor positions = (0.02 * fg::randn({length, width})).requires_grad_();
  nn::TransformerEncoder encoder{
      nn::TransformerEncoderLayer(width, 4, {.dim_feedforward = 256, .dropout = 0, .batch_first = true}), 2};
  nn::TransformerDecoder decoder{
      nn::TransformerDecoderLayer(width, 4, {.dim_feedforward = 256, .dropout = 0, .batch_first = true}), 2};
  nn::Linear head{width, words};

  fg::Tensor operator()(const fg::Tensor& from, const fg::Tensor& so_far) const {
    const auto memory = encoder(source(from) + positions);
    const auto states = decoder(target(so_far) + positions, memory, nn::causal_mask(length));
    return head(states);
  }
};

fg::Tensor loss_of(Translator model, fg::Tensor from, fg::Tensor so_far, fg::Tensor wanted) {
  return nn::cross_entropy(fg::flatten(model(from, so_far), 0, 1), fg::flatten(wanted));
}

}  // namespace

int main(int argc, char** argv) {
  fg::manual_seed(0);
  Translator model;
  fg::optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-3});
  const auto loss = fg::jit(loss_of);
  const auto from = fg::randint(1, words, {32, length}), wanted = fg::flip(from, {1});
  const auto so_far = fg::cat({fg::zeros({32, 1}, {.dtype = fg::Dtype::i64}), wanted.narrow(1, 0, length - 1)}, 1);
  const Batch batch{{"from", from}, {"so_far", so_far}, {"wanted", wanted}};
  return train(argc, argv, model, batch,
               [&](Batch& b) { return descend(loss(model, b["from"], b["so_far"], b["wanted"]), optimizer); });
}
