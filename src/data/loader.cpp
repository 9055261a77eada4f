// The parts of data loaders that do not depend on the samples' type.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include <fulgurite/data.h>
#include <fulgurite/error.h>

#include "data/numbers.h"
#include "support/context.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::data {

namespace data_detail {

void check_rows(const std::vector<Tensor>& tensors, SourceLocation at) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.ndim() == 0)
      throw UserError("TensorDataset: tensors have at least one dimension, the samples", at);
    if (tensor.size(0) != tensors[0].size(0))
      throw UserError(text::cat("TensorDataset: the tensors have different numbers of rows: ", type_text(tensors[0]),
                                " and ", type_text(tensor)),
                      at);
  }
}

void refuse_index(int64_t index, int64_t size, SourceLocation at) {
  throw UserError(text::cat("there is no sample ", index, "; the dataset has ", size), at);
}

std::vector<int64_t> order_of(int64_t size, bool shuffle, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  Numbers numbers(mixed(seed, static_cast<uint64_t>(epoch)));
  if (shuffle)
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[numbers.below(i)]);
  return order;
}

uint64_t seed_of(uint64_t seed, int64_t epoch, int64_t index) {
  return mixed(mixed(seed, static_cast<uint64_t>(epoch)), static_cast<uint64_t>(index) + 1);
}

uint64_t drawn_seed() {
  const RandomState state = context().generator.next_random_state(1);
  return mixed(state.seed, state.offset);
}

void check_options(int64_t batch_size, int64_t workers, int64_t prefetch, SourceLocation at) {
  if (batch_size < 1) throw UserError(text::cat("DataLoader: batch_size must be at least 1, not ", batch_size), at);
  if (workers < 0 || workers > 1024)
    throw UserError(text::cat("DataLoader: workers must be from 0 to 1024, not ", workers), at);
  if (prefetch < 1) throw UserError(text::cat("DataLoader: prefetch must be at least 1, not ", prefetch), at);
}

void refuse_shuffled_sampler(SourceLocation at) {
  throw UserError("DataLoader: a sampler has an order of its own; give it or shuffle, not both", at);
}

/// Batches wait in slots, a ring; a thread that is `slots` batches ahead of the loop waits.
struct BatchPipeline::Threads {
  struct Slot {
    std::shared_ptr<void> batch;
    std::exception_ptr error;
    bool is_full = false;
  };
  std::mutex mutex;
  std::condition_variable filled, taken;
  std::vector<Slot> slots;
  int64_t claimed, given, end;
  bool stops = false;
  std::vector<std::thread> threads;

  Threads(int64_t first, int64_t end, int64_t ahead)
      : slots(static_cast<size_t>(ahead)), claimed(first), given(first), end(end) {}
  Slot& slot(int64_t batch) { return slots[static_cast<size_t>(batch) % slots.size()]; }

  void work(const Make& make) {
    std::unique_lock lock(mutex);
    while (true) {
      taken.wait(lock, [&] { return stops || claimed >= end || claimed < given + static_cast<int64_t>(slots.size()); });
      if (stops || claimed >= end) return;
      const int64_t batch = claimed++;
      lock.unlock();
      std::shared_ptr<void> made;
      std::exception_ptr error;
      try {
        made = make(batch);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      slot(batch) = {std::move(made), error, true};
      filled.notify_all();
    }
  }
  std::shared_ptr<void> take(int64_t batch) {
    std::unique_lock lock(mutex);
    Slot& place = slot(batch);
    filled.wait(lock, [&] { return place.is_full; });
    const Slot found = std::exchange(place, Slot());
    given = batch + 1;
    taken.notify_all();
    if (found.error) std::rethrow_exception(found.error);
    return found.batch;
  }
  ~Threads() {
    {
      const std::lock_guard lock(mutex);
      stops = true;
    }
    taken.notify_all();
    for (std::thread& thread : threads) thread.join();
  }
};

BatchPipeline::BatchPipeline(Make make, int64_t first, int64_t end, int64_t workers, int64_t ahead)
    : make_(std::move(make)), next_(first) {
  if (workers == 0 || first >= end) return;
  threads_ = std::make_unique<Threads>(first, end, workers * ahead);
  for (int64_t i = 0; i < std::min(workers, end - first); ++i)
    threads_->threads.emplace_back([threads = threads_.get(), this] { threads->work(make_); });
}
BatchPipeline::~BatchPipeline() { threads_.reset(); }  // joins before what the threads call goes

std::shared_ptr<void> BatchPipeline::next() {
  const auto start = std::chrono::steady_clock::now();
  const int64_t batch = next_++;
  std::shared_ptr<void> out = threads_ ? threads_->take(batch) : make_(batch);
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

std::map<std::string, Tensor> to_dict(const LoaderState& state) {
  const auto number = [](int64_t value) { return full({}, value, {.dtype = Dtype::i64}); };
  return {{"epoch", number(state.epoch)},
          {"position", number(state.position)},
          {"seed", number(static_cast<int64_t>(state.seed))},
          {"size", number(state.size)},
          {"batch_size", number(state.batch_size)}};
}

LoaderState from_dict(const std::map<std::string, Tensor>& dict, const LoaderState& own, SourceLocation at) {
  const auto number = [&](const char* name) {
    const auto found = dict.find(name);
    if (found == dict.end())
      throw UserError(text::cat("DataLoader::load_state_dict(): there is no \"", name, "\""), at);
    return found->second.item<int64_t>(at);
  };
  LoaderState out{number("epoch"), number("position"), number("size"), number("batch_size"),
                  static_cast<uint64_t>(number("seed"))};
  if (out.size != own.size || out.batch_size != own.batch_size)
    throw UserError(text::cat("DataLoader::load_state_dict(): the state is of ", out.size, " samples in batches of ",
                              out.batch_size, ", the loader has ", own.size, " in batches of ", own.batch_size),
                    at);
  if (out.epoch < 0 || out.position < 0)
    throw UserError("DataLoader::load_state_dict(): epoch and position must not be negative", at);
  return out;
}

}  // namespace data_detail

std::vector<std::vector<int64_t>> random_split(int64_t size, const std::vector<int64_t>& sizes, uint64_t seed,
                                               SourceLocation at) {
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != size ||
      std::ranges::any_of(sizes, [](int64_t n) { return n < 0; }))
    throw UserError(text::cat("random_split: the sizes must not be negative and add up to ", size), at);
  const std::vector<int64_t> order = data_detail::order_of(size, true, seed, -1);
  std::vector<std::vector<int64_t>> out;
  auto first = order.begin();
  for (const int64_t count : sizes) {
    out.emplace_back(first, first + count);
    first += count;
  }
  return out;
}

}  // namespace fulgurite::data
