#include <algorithm>
#include <set>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

std::vector<int64_t> epoch_of(data::DataLoader<data::TensorDataset<1>>& loader) {
  std::vector<int64_t> out;
  for (auto& [x] : loader)
    for (const int64_t number : x.to_vector<int64_t>()) out.push_back(number);
  return out;
}

data::DataLoader<data::TensorDataset<1>> loader_of(int64_t count, const data::Sampler& sampler) {
  return data::DataLoader<data::TensorDataset<1>>(data::TensorDataset(arange(count)),
                                                  {.batch_size = 4, .seed = 3, .sampler = sampler});
}

std::vector<int64_t> sorted(std::vector<int64_t> order) {
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

TEST("samplers give the samples that they say") {
  auto all = loader_of(6, data::SequentialSampler());
  expect_equal(epoch_of(all), std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  auto random = loader_of(6, data::RandomSampler());
  const auto first = epoch_of(random), second = epoch_of(random);
  expect_equal(sorted(first), std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  expect_equal(sorted(second), std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  expect(first != second, "another order in each epoch");
  auto few = loader_of(100, data::RandomSampler({.num_samples = 10}));
  const auto ten = epoch_of(few);
  expect_equal(std::set<int64_t>(ten.begin(), ten.end()).size(), size_t{10});
  auto many = loader_of(3, data::RandomSampler({.replacement = true, .num_samples = 10}));
  expect_equal(epoch_of(many).size(), size_t{10});
  expect_equal(many.size(), 3);
  auto some = loader_of(10, data::SubsetRandomSampler({7, 2, 5}));
  expect_equal(sorted(epoch_of(some)), std::vector<int64_t>{2, 5, 7});
}

TEST("weights decide how often a sample occurs") {
  const int64_t count = 20000;
  const data::WeightedRandomSampler sampler(tensor({1.0, 0.0, 3.0}), count);
  std::vector<double> found(3);
  for (const int64_t index : sampler.order(3, 1, 0)) found[static_cast<size_t>(index)] += 1;
  expect_equal(found[1], 0.0);
  expect_near(found[2] / count, 0.75, 0.02);
  // Without replacement the heavier one of two comes first three times of four.
  int heavy = 0;
  for (int64_t epoch = 0; epoch < 4000; ++epoch) {
    const auto order = data::WeightedRandomSampler({1.0, 0.0, 3.0}, 2, false).order(3, 1, epoch);
    expect_equal(sorted(order), std::vector<int64_t>{0, 2});
    heavy += order[0] == 2 ? 1 : 0;
  }
  expect_near(heavy / 4000.0, 0.75, 0.03);
}

TEST("processes share the samples") {
  for (const bool drop_last : {false, true}) {
    std::vector<int64_t> all;
    for (int64_t rank = 0; rank < 3; ++rank) {
      const data::DistributedSampler sampler({.replicas = 3, .rank = rank, .drop_last = drop_last});
      const auto part = sampler.order(10, 5, 1);
      expect_equal(static_cast<int64_t>(part.size()), sampler.count(10));
      expect_equal(part.size(), size_t{drop_last ? 3u : 4u});
      all.insert(all.end(), part.begin(), part.end());
    }
    expect_equal(std::set<int64_t>(all.begin(), all.end()).size(), size_t{drop_last ? 9u : 10u});
  }
}

TEST("a loader continues a sampler's order in the middle of an epoch") {
  const auto make = [] { return loader_of(9, data::RandomSampler({.replacement = true, .num_samples = 12})); };
  auto whole = make();
  const auto expected = epoch_of(whole);
  auto one = make();
  auto batch = one.begin();
  const auto state = one.state_dict();
  auto other = make();
  other.load_state_dict(state);
  expect_equal(epoch_of(other), std::vector<int64_t>(expected.begin() + 4, expected.end()));
}

TEST("samplers refuse what they cannot give") {
  expect_error(
      [] { data::DataLoader(data::TensorDataset(arange(3)), {.shuffle = true, .sampler = data::RandomSampler()}); },
      "DataLoader: a sampler has an order of its own; give it or shuffle, not both");
  expect_error([] { data::RandomSampler({.num_samples = 5}).order(3, 0, 0); },
               "RandomSampler: 5 samples without replacement of a dataset of 3");
  expect_error([] { data::SubsetRandomSampler({3}).order(3, 0, 0); },
               "the sampler gave the index 3 of a dataset of 3 samples");
  expect_error(
      [] {
        data::WeightedRandomSampler({1.0, -1.0}, 2);
      },
      "WeightedRandomSampler: the weights must be finite and not negative");
  expect_error([] { data::WeightedRandomSampler({0.0, 0.0}, 2); }, "WeightedRandomSampler: the weights sum to 0");
  expect_error(
      [] {
        data::WeightedRandomSampler({1.0, 0.0}, 2, false);
      },
      "WeightedRandomSampler: 2 samples without replacement of 1 weights above 0");
  expect_error(
      [] {
        data::WeightedRandomSampler({1.0, 0.0}, 2).order(3, 0, 0);
      },
      "WeightedRandomSampler: 2 weights for 3 samples");
  expect_error([] { data::DistributedSampler({.replicas = 2, .rank = 2}); },
               "DistributedSampler: there is no rank 2 of 2 replicas");
  const data::Sampler wrong([](int64_t, uint64_t, int64_t) { return std::vector<int64_t>{0}; },
                            [](int64_t) { return 2; });
  expect_error([&] { wrong.order(3, 0, 0); }, "the sampler gave 1 samples, its count is 2");
}
