#include <atomic>
#include <set>
#include <stdexcept>

#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

namespace {

/// The first numbers of each batch's samples, epoch after epoch.
template <class Loader>
std::vector<int64_t> epoch_of(Loader& loader) {
  std::vector<int64_t> out;
  for (auto& [x, y] : loader)
    for (const int64_t number : x.reshape({-1}).template to_vector<int64_t>()) out.push_back(number);
  return out;
}

data::TensorDataset<2> numbers(int64_t count) {
  return data::TensorDataset(arange(count), arange(count).to(Dtype::f32) * 2);
}

/// Samples that are made one by one, at random.
struct Drawn {
  int64_t size() const { return 10; }
  std::tuple<Tensor, int64_t> get(int64_t index, Generator& g) const { return {rand({2}, {.generator = g}), index}; }
};
struct Failing {
  int64_t size() const { return 10; }
  Tensor get(int64_t index) const {
    if (index == 5) throw std::runtime_error("sample 5 is broken");
    return ones({2});
  }
};

}  // namespace

TEST("a loader gives batches in order") {
  data::DataLoader loader(numbers(5), {.batch_size = 2});
  expect_equal(loader.size(), 3);
  std::vector<Shape> shapes;
  for (auto& [x, y] : loader) {
    shapes.push_back(x.shape());
    expect(y.dtype() == Dtype::f32 && (y == x * 2).all().item<bool>());
  }
  expect_equal(shapes, std::vector<Shape>{{2}, {2}, {1}});
  data::DataLoader full(numbers(5), {.batch_size = 2, .drop_last = true});
  expect_equal(epoch_of(full), std::vector<int64_t>{0, 1, 2, 3});
}

TEST("the order is another in each epoch and the same for a seed and any number of workers") {
  data::DataLoader one(numbers(50), {.batch_size = 4, .shuffle = true, .seed = 1});
  data::DataLoader other(numbers(50), {.batch_size = 4, .shuffle = true, .workers = 3, .seed = 1});
  const auto first = epoch_of(one), second = epoch_of(one);
  expect_different(first, second);
  expect_equal(std::set<int64_t>(first.begin(), first.end()).size(), 50);
  expect_equal(epoch_of(other), first);
  expect_equal(epoch_of(other), second);
  data::DataLoader another(numbers(50), {.batch_size = 4, .shuffle = true, .seed = 2});
  expect_different(epoch_of(another), first);
  manual_seed(4);
  data::DataLoader drawn(numbers(50), {.shuffle = true});
  manual_seed(4);
  data::DataLoader again(numbers(50), {.shuffle = true});
  expect_equal(epoch_of(drawn), epoch_of(again));
}

TEST("a loader continues in the middle of an epoch") {
  for (const int64_t workers : {0, 2})
    for (int64_t stop = 1; stop <= 13; ++stop) {
      data::DataLoader loader(numbers(25), {.batch_size = 2, .shuffle = true, .workers = workers, .seed = 9});
      epoch_of(loader);
      std::vector<int64_t> seen;
      std::map<std::string, Tensor> state;
      int64_t count = 0;
      for (auto& [x, y] : loader) {
        const auto batch = x.to_vector<int64_t>();
        seen.insert(seen.end(), batch.begin(), batch.end());
        if (++count == stop) {
          state = loader.state_dict();
          break;
        }
      }
      data::DataLoader resumed(numbers(25), {.batch_size = 2, .shuffle = true, .workers = 1, .seed = 0});
      resumed.load_state_dict(state);
      data::DataLoader whole(numbers(25), {.batch_size = 2, .shuffle = true, .seed = 9});
      epoch_of(whole);
      const auto second = epoch_of(whole), third = epoch_of(whole);
      if (stop < 13) {
        const auto rest = epoch_of(resumed);
        seen.insert(seen.end(), rest.begin(), rest.end());
      }
      expect_equal(seen, second);
      expect_equal(epoch_of(resumed), third);
    }
}

TEST("a state is refused by a loader of other sizes") {
  data::DataLoader loader(numbers(5), {.batch_size = 2}), other(numbers(6), {.batch_size = 2});
  expect_error([&] { other.load_state_dict(loader.state_dict()); },
               "the state is of 5 samples in batches of 2, the loader has 6 in batches of 2");
  expect_error([&] { loader.load_state_dict({}); }, "there is no \"epoch\"");
}

TEST("samples of a dataset's own are joined, and draw from a generator of theirs") {
  data::DataLoader one(Drawn(), {.batch_size = 3, .shuffle = true, .seed = 5}),
      other(Drawn(), {.batch_size = 3, .shuffle = true, .workers = 4, .seed = 5});
  auto expected = one.begin();
  for (auto& [x, index] : other) {
    expect(x.shape()[1] == 2 && index.dtype() == Dtype::i64);
    const auto& [same, same_index] = *expected;
    expect_equal(x.to_vector<float>(), same.to_vector<float>());
    expect_equal(index.to_vector<int64_t>(), same_index.to_vector<int64_t>());
    ++expected;
  }
  expect_equal(expected, one.end());
  data::DataLoader vectors(std::vector<Tensor>{ones({2}), zeros({2}), ones({2})}, {.batch_size = 2});
  for (auto& batch : vectors) expect_equal(batch.shape()[1], 2);
}

TEST("an exception of a sample reaches the loop") {
  for (const int64_t workers : {0, 2}) {
    data::DataLoader loader(Failing(), {.batch_size = 2, .workers = workers});
    int batches = 0;
    try {
      for (auto& batch : loader) batches += batch.defined();
      expect(false, "no exception");
    } catch (const std::runtime_error& error) {
      expect_equal(std::string(error.what()), std::string("sample 5 is broken"));
    }
    expect_equal(batches, 2);
  }
}

TEST("a loop that is left early stops its workers") {
  data::DataLoader loader(numbers(1000), {.batch_size = 1, .workers = 4});
  for (int i = 0; i < 20; ++i)
    for (auto& [x, y] : loader)
      if (x.item<int64_t>() == 3) break;
  expect_equal(loader.epoch(), 19);
}

TEST("datasets and options that make no sense are refused") {
  expect_error([] { data::TensorDataset(ones({2}), ones({3})); }, "different numbers of rows");
  expect_error([] { data::TensorDataset(tensor(1.0)); }, "at least one dimension");
  expect_error([] { data::DataLoader(numbers(2), {.batch_size = 0}); }, "batch_size must be at least 1");
  expect_error([] { data::DataLoader(numbers(2), {.workers = -1}); }, "workers must be from 0");
  expect_error([] { data::random_split(5, {2, 2}, 0); }, "add up to 5");
}

TEST("a dataset is divided at random") {
  const auto parts = data::random_split(10, {7, 3}, 1);
  std::set<int64_t> all(parts[0].begin(), parts[0].end());
  all.insert(parts[1].begin(), parts[1].end());
  expect(parts[0].size() == 7 && all.size() == 10);
  data::DataLoader loader(data::Subset(numbers(10), parts[1]), {.batch_size = 3});
  expect_equal(epoch_of(loader), parts[1]);
}
