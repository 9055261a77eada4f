// A classifier of two moons, from generated points to the best checkpoint, by the trainer of trainer.h. Ctrl-C saves;
// the same command continues. usage: example_classify_points [FOLDER]
#include "trainer.h"

namespace fg = fulgurite;

struct Net {
  fg::nn::Linear first{2, 32}, second{32, 32}, third{32, 2};
  fg::Tensor operator()(const fg::Tensor& x) const { return third(fg::tanh(second(fg::tanh(first(x))))); }
};

int main(int argc, char** argv) {
  fg::manual_seed(1);
  const auto training_set = fg::data::make_moons(2000, {.noise = 0.1});
  const auto test_set = fg::data::make_moons(500, {.noise = 0.1});
  Net net;
  fg::optim::AdamW optimizer(fg::nn::parameters(net), {.lr = 1e-2});
  fg::data::DataLoader loader(fg::data::TensorDataset(training_set.first, training_set.second),
                              {.batch_size = 50, .shuffle = true, .seed = 1});

  const std::string folder = argc > 1 ? argv[1] : "/tmp/fulgurite_moons";
  const bool is_new = argc <= 1;
  if (is_new) std::filesystem::remove_all(folder);
  Trainer trainer(net, optimizer, loader, {.folder = folder, .epochs = 20, .patience = 8});
  const auto loss_of = [](const Net& model, const auto& batch) {
    return fg::nn::cross_entropy(model(batch[0]), batch[1]);
  };
  const auto evaluate = [&](const Net& model) {
    const fg::NoGrad no_grad;
    return 1 - fg::metrics::accuracy(model(test_set.first), test_set.second);
  };
  if (trainer.fit(loss_of, evaluate) == TrainingEnd::interrupted) {
    std::cout << "interrupted; the same command continues\n";
    return 0;
  }
  trainer.load_best();
  const double errors = evaluate(net);
  std::cout << "the best of " << trainer.epoch() << " epochs has " << 100 * errors << " % errors\n";
  return errors < 0.03 ? 0 : 1;
}
