#include "../../examples/trainer.h"

#include <csignal>

#include <fulgurite/error.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

struct Net {
  nn::Linear first{2, 8}, second{8, 2};
  nn::Dropout dropout{0.2};
  Tensor operator()(const Tensor& x) const { return second(dropout(tanh(first(x)))); }
};

/// A run that gets a signal at each of these steps, and continues in new objects.
struct Run {
  std::string folder;
  int64_t steps = 0;
  std::vector<TrainingEnd> ends = {};

  std::vector<float> go(std::vector<int64_t> stops, int64_t epochs = 3) {
    while (true) {
      manual_seed(1);
      const auto set = data::make_moons(40);
      const Tensor points = set.first, classes = set.second;
      Net net;
      optim::AdamW optimizer(nn::parameters(net), {.lr = 1e-2});
      data::DataLoader loader(data::TensorDataset(points, classes), {.batch_size = 8, .shuffle = true, .seed = 2});
      Trainer trainer(net, optimizer, loader, {.folder = folder, .epochs = epochs, .patience = 5, .is_silent = true});
      const auto loss_of = [&](const Net& model, const auto& batch) {
        if (++steps; !stops.empty() && steps == stops[0]) {
          stops.erase(stops.begin());
          std::raise(SIGINT);
        }
        return nn::cross_entropy(model(batch[0]), batch[1]);
      };
      const auto evaluate = [&](const Net& model) { return nn::cross_entropy(model(points), classes).item<double>(); };
      ends.push_back(trainer.fit(loss_of, evaluate));
      if (ends.back() == TrainingEnd::interrupted) continue;
      expect_equal(trainer.epoch(), epochs);
      return cat({net.first.weight.reshape({-1}), net.second.bias}).detach().to_vector<float>();
    }
  }
};

}  // namespace

TEST("a run that is interrupted in the middle of epochs ends with the bits of one that is not") {
  const TestFolder one, other;
  Run whole{.folder = one.path + "/run"}, interrupted{.folder = other.path + "/run"};
  const std::vector<float> expected = whole.go({});
  expect_equal(whole.steps, 15);
  expect_equal(interrupted.go({3, 5, 11}) == expected, true);
  expect_equal(interrupted.steps, 15);
  expect_equal(interrupted.ends.size(), size_t{4});
  expect(std::filesystem::exists(one.path + "/run/best.safetensors"));
}

TEST("a checkpoint has its parts and the generator") {
  const TestFolder folder;
  manual_seed(3);
  training::save_checkpoint(folder.file(), {{"model", {{"fc.weight", ones({2})}}}, {"more", {{"n", tensor(4)}}}});
  const Tensor drawn = rand({3});
  manual_seed(4);
  auto parts = training::load_checkpoint(folder.file(), {"model"});
  expect_equal(parts["model"].at("fc.weight").to_vector<float>(), std::vector<float>{1, 1});
  expect_equal(parts["more"].at("n").item<int64_t>(), int64_t{4});
  expect_equal(equal(rand({3}), drawn), true);
  expect_error([&] { training::load_checkpoint(folder.file(), {"optimizer"}); }, " has no part \"optimizer\"");
  save_safetensors(folder.file(), {{"x", ones({1})}});
  expect_error([&] { training::load_checkpoint(folder.file()); }, "it has no generator");
  expect_error(
      [&] {
        training::save_checkpoint(folder.file(), {{"a.b", {}}});
      },
      "training::save_checkpoint: a part cannot be named \"a.b\"");
}
