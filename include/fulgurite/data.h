#pragma once
#include <fulgurite/detail/requirements.h>

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/generator.h>
#include <fulgurite/operators.h>
#include <fulgurite/samplers.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::data {

// Batches of samples: `data::DataLoader loader(data::TensorDataset(x, y), {.batch_size = 32, .shuffle = true, .workers
// = 2}); for (auto& [inputs, targets] : loader) …`. Each loop is an epoch.

namespace data_detail {
void check_rows(const std::vector<Tensor>& tensors, SourceLocation at);
[[noreturn]] void refuse_index(int64_t index, int64_t size, SourceLocation at);

template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;
template <class T, size_t n>
inline constexpr bool is_tuple<std::array<T, n>> = true;

/// Samples joined to a batch: tensors are stacked, numbers become a tensor, tuples, pairs and arrays are joined part by
/// part; of other types it is a std::vector.
template <class Item>
auto join(const std::vector<Item>& items);
template <class Item, size_t... part>
auto join_parts(const std::vector<Item>& items, std::index_sequence<part...>) {
  const auto one = [&items]<size_t i>(std::integral_constant<size_t, i>) {
    std::vector<std::tuple_element_t<i, Item>> parts;
    for (const Item& item : items) parts.push_back(std::get<i>(item));
    return join(parts);
  };
  using Joined = std::tuple<decltype(one(std::integral_constant<size_t, part>()))...>;
  return Joined{one(std::integral_constant<size_t, part>())...};
}
template <class Item>
auto join(const std::vector<Item>& items) {
  if constexpr (std::is_same_v<Item, Tensor>) return stack(items);
  else if constexpr (std::is_arithmetic_v<Item>) return tensor(items);
  else if constexpr (is_tuple<Item>) return join_parts(items, std::make_index_sequence<std::tuple_size_v<Item>>());
  else return items;
}

/// The order of an epoch's samples, and seeds of its samples.
std::vector<int64_t> order_of(int64_t size, bool shuffle, uint64_t seed, int64_t epoch);
uint64_t seed_of(uint64_t seed, int64_t epoch, int64_t index);
uint64_t drawn_seed();

/// Makes batches on threads, some ahead, and gives them in order. An exception of `make` is thrown by next() in the
/// batch's place.
class BatchPipeline {
 public:
  using Make = std::function<std::shared_ptr<void>(int64_t batch)>;
  BatchPipeline(Make make, int64_t first, int64_t end, int64_t workers, int64_t ahead);
  ~BatchPipeline();
  BatchPipeline(const BatchPipeline&) = delete;
  BatchPipeline& operator=(const BatchPipeline&) = delete;
  std::shared_ptr<void> next();
  double waited_seconds() const { return waited_; }

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;  // null without workers
  Make make_;
  int64_t next_;
  double waited_ = 0;
};

/// The contents of a loader's state_dict().
struct LoaderState {
  int64_t epoch = 0, position = 0, size = 0, batch_size = 0;
  uint64_t seed = 0;
};
std::map<std::string, Tensor> to_dict(const LoaderState&);
LoaderState from_dict(const std::map<std::string, Tensor>&, const LoaderState& own, SourceLocation at);
void check_options(int64_t batch_size, int64_t workers, int64_t prefetch, SourceLocation at);
[[noreturn]] void refuse_shuffled_sampler(SourceLocation at);
}  // namespace data_detail

/// Tensors of the same number of rows; a sample is a row of each. Throws UserError if their first sizes differ.
template <size_t count>
class TensorDataset {
 public:
  using Item = std::array<Tensor, count>;
  template <std::same_as<Tensor>... T>
  requires(sizeof...(T) == count) explicit TensorDataset(const T&... tensors) : tensors_{tensors...} {
    data_detail::check_rows({tensors...}, SourceLocation());
  }
  int64_t size() const { return tensors_[0].size(0); }
  Item get(int64_t index) const {
    Item out;
    for (size_t i = 0; i < count; ++i) out[i] = tensors_[i](index);
    return out;
  }
  Item get_batch(const std::vector<int64_t>& indices) const {
    const Tensor rows = tensor(indices);
    Item out;
    for (size_t i = 0; i < count; ++i) out[i] = index_select(tensors_[i], 0, rows);
    return out;
  }
  const std::array<Tensor, count>& tensors() const { return tensors_; }

 private:
  std::array<Tensor, count> tensors_;
};
/// As many tensors as are given.
template <std::same_as<Tensor>... T>
TensorDataset(const T&...) -> TensorDataset<sizeof...(T)>;

/// Some samples of a dataset.
template <class Dataset>
class Subset {
 public:
  Subset(Dataset dataset, std::vector<int64_t> indices) : dataset_(std::move(dataset)), indices_(std::move(indices)) {}
  int64_t size() const { return static_cast<int64_t>(indices_.size()); }
  auto get(int64_t index) const {
    if (index < 0 || index >= size()) data_detail::refuse_index(index, size(), SourceLocation());
    return dataset_.get(indices_[static_cast<size_t>(index)]);
  }

 private:
  Dataset dataset_;
  std::vector<int64_t> indices_;
};

/// Members are given in this order.
struct DataLoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  int64_t workers = 0;  // threads that make batches; 0: the loop's own thread does
  std::optional<uint64_t> seed =
      {};                  // of the order; without one it is drawn from the generator that manual_seed() seeds
  bool drop_last = false;  // of batches that are not full
  int64_t prefetch = 2;    // batches ahead for each worker
  std::optional<Sampler> sampler = {};  // of the order, instead of `shuffle`
};

/// Batches of a dataset: a class with size() and get(index), and optionally get(index, Generator&), whose generator
/// depends on the seed, the epoch and the sample alone, or get_batch(indices); or a std::vector of samples. Samples are
/// tensors, numbers, or tuples, pairs or arrays of these. The order depends on the seed and the epoch alone, not on the
/// number of workers. With workers, get() is called from several threads. Batches have no history.
template <class Dataset>
class DataLoader {
 public:
  explicit DataLoader(Dataset dataset, const DataLoaderOptions& options = {},
                      SourceLocation at = SourceLocation::here())
      : dataset_(std::move(dataset)),
        options_(options),
        seed_(options.seed ? *options.seed : data_detail::drawn_seed()) {
    data_detail::check_options(options.batch_size, options.workers, options.prefetch, at);
    if (options.sampler && options.shuffle) data_detail::refuse_shuffled_sampler(at);
  }
  DataLoader(const DataLoader&) = delete;
  DataLoader& operator=(const DataLoader&) = delete;

  /// Batches in an epoch.
  int64_t size() const {
    return options_.drop_last ? samples() / options_.batch_size
                              : (samples() + options_.batch_size - 1) / options_.batch_size;
  }
  const Dataset& dataset() const { return dataset_; }
  int64_t epoch() const { return epoch_; }
  /// The next loop is this epoch, from its first batch.
  void set_epoch(int64_t epoch) {
    epoch_ = epoch;
    position_ = 0;
    goes_on_ = true;
  }
  /// Returns the time that loops have waited for batches, in seconds.
  double waited_seconds() const { return waited_; }

  /// The epoch, and how many of its batches the loop was given, the present one included.
  std::map<std::string, Tensor> state_dict() const { return data_detail::to_dict(state()); }
  /// The next loop continues behind the batch at which the state was taken. Throws UserError for another dataset size
  /// or batch size.
  void load_state_dict(const std::map<std::string, Tensor>& dict, SourceLocation at = SourceLocation::here()) {
    const data_detail::LoaderState loaded = data_detail::from_dict(dict, state(), at);
    seed_ = loaded.seed;
    const bool is_over = loaded.position >= size();
    epoch_ = is_over ? loaded.epoch + 1 : loaded.epoch;
    position_ = is_over ? 0 : loaded.position;
    goes_on_ = true;
  }

 private:
  static auto batch_of(const Dataset& dataset, const std::vector<int64_t>& indices, uint64_t seed, int64_t epoch) {
    const NoGrad no_grad;
    if constexpr (requires { dataset.get_batch(indices); }) {
      return dataset.get_batch(indices);
    } else {
      std::vector<std::decay_t<decltype(sample(dataset, 0, seed, epoch))>> items;
      for (const int64_t index : indices) items.push_back(sample(dataset, index, seed, epoch));
      return data_detail::join(items);
    }
  }
  static auto sample(const Dataset& dataset, int64_t index, uint64_t seed, int64_t epoch) {
    if constexpr (requires(Generator & g) { dataset.get(index, g); }) {
      Generator generator(data_detail::seed_of(seed, epoch, index));
      return dataset.get(index, generator);
    } else if constexpr (requires { dataset.get(index); }) {
      return dataset.get(index);
    } else {
      return dataset[static_cast<size_t>(index)];
    }
  }

 public:
  using Batch = decltype(batch_of(std::declval<const Dataset&>(), std::vector<int64_t>(), 0, 0));

  /// An epoch's loop; it must not outlive the loader.
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = int64_t;
    using iterator_category = std::input_iterator_tag;
    explicit Iterator(DataLoader& loader) : loader_(&loader), pipeline_(loader.start()) { advance(); }
    Batch& operator*() const { return *batch_; }
    Batch* operator->() const { return batch_.get(); }
    Iterator& operator++() {
      advance();
      return *this;
    }
    void operator++(int) { advance(); }
    bool operator==(std::default_sentinel_t) const { return !batch_; }

   private:
    void advance() {
      batch_.reset();
      if (loader_->position_ >= loader_->size()) return pipeline_.reset();
      const double before = pipeline_->waited_seconds();
      batch_ = std::static_pointer_cast<Batch>(pipeline_->next());
      loader_->waited_ += pipeline_->waited_seconds() - before;
      ++loader_->position_;
    }
    DataLoader* loader_;
    std::shared_ptr<data_detail::BatchPipeline> pipeline_;
    std::shared_ptr<Batch> batch_;
  };
  /// Starts an epoch: the next one, or the one that a loaded state is in.
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() { return {}; }

 private:
  /// Samples in an epoch.
  int64_t samples() const {
    const auto size = static_cast<int64_t>(dataset_.size());
    return options_.sampler ? options_.sampler->count(size) : size;
  }
  std::vector<int64_t> order() const {
    const auto size = static_cast<int64_t>(dataset_.size());
    return options_.sampler ? options_.sampler->order(size, seed_, epoch_)
                            : data_detail::order_of(size, options_.shuffle, seed_, epoch_);
  }
  data_detail::LoaderState state() const { return {epoch_, position_, samples(), options_.batch_size, seed_}; }
  std::shared_ptr<data_detail::BatchPipeline> start() {
    if (!goes_on_) {
      ++epoch_;
      position_ = 0;
    }
    goes_on_ = false;
    const auto order = std::make_shared<const std::vector<int64_t>>(this->order());
    const auto make = [this, order, seed = seed_, epoch = epoch_](int64_t batch) -> std::shared_ptr<void> {
      const int64_t first = batch * options_.batch_size,
                    last = std::min<int64_t>(first + options_.batch_size, samples());
      return std::make_shared<Batch>(batch_of(dataset_, {order->begin() + first, order->begin() + last}, seed, epoch));
    };
    return std::make_shared<data_detail::BatchPipeline>(make, position_, size(), options_.workers, options_.prefetch);
  }

  Dataset dataset_;
  DataLoaderOptions options_;
  uint64_t seed_;
  int64_t epoch_ = 0, position_ = 0;
  bool goes_on_ = true;  // the next loop is of epoch_, from position_
  double waited_ = 0;
};

/// A loader, for `auto loader = data::make_data_loader(dataset, {.batch_size = 32});`.
template <class Dataset>
DataLoader<Dataset> make_data_loader(Dataset dataset, const DataLoaderOptions& options = {},
                                     SourceLocation at = SourceLocation::here()) {
  return DataLoader<Dataset>(std::move(dataset), options, at);
}

/// The samples of a dataset divided at random into parts of these sizes, which add up to all.
std::vector<std::vector<int64_t>> random_split(int64_t size, const std::vector<int64_t>& sizes, uint64_t seed,
                                               SourceLocation at = SourceLocation::here());
/// The same as datasets.
template <class Dataset>
requires requires(const Dataset& dataset) { dataset.get(0); }
std::vector<Subset<Dataset>> random_split(const Dataset& dataset, const std::vector<int64_t>& sizes, uint64_t seed,
                                          SourceLocation at = SourceLocation::here()) {
  std::vector<Subset<Dataset>> out;
  for (std::vector<int64_t>& part : random_split(static_cast<int64_t>(dataset.size()), sizes, seed, at))
    out.emplace_back(dataset, std::move(part));
  return out;
}

}  // namespace fulgurite::data
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
