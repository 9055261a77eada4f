#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::data {

// Orders of samples: `data::DataLoader(dataset, {.batch_size = 32, .sampler = data::WeightedRandomSampler(weights,
// 1000)})`. An order depends on the seed and the epoch alone, so that a loader's state continues it.

/// The samples of an epoch: an order of one's own is made from two functions.
class Sampler {
 public:
  using Order = std::function<std::vector<int64_t>(int64_t size, uint64_t seed, int64_t epoch)>;
  using Count = std::function<int64_t(int64_t size)>;
  /// `order` returns indices of a dataset of `size` samples, `count` their number.
  Sampler(Order order, Count count) : order_(std::move(order)), count_(std::move(count)) {}
  /// UserError for an index out of range, and for a number of them that is not count().
  std::vector<int64_t> order(int64_t size, uint64_t seed, int64_t epoch) const;
  int64_t count(int64_t size) const { return count_(size); }

 private:
  Order order_;
  Count count_;
};

/// All samples in the dataset's order.
class SequentialSampler : public Sampler {
 public:
  SequentialSampler();
};

/// Members are given in this order.
struct RandomSamplerOptions {
  bool replacement = false;                 // samples may occur more than once
  std::optional<int64_t> num_samples = {};  // all without a number; at most all without replacement
};

/// Samples in random order.
class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(const RandomSamplerOptions& options = {}, SourceLocation at = SourceLocation::here());
};

/// Some samples, in random order.
class SubsetRandomSampler : public Sampler {
 public:
  explicit SubsetRandomSampler(std::vector<int64_t> indices);
};

/// `num_samples` samples, each drawn with the probability that its weight has: for classes of unequal sizes.
class WeightedRandomSampler : public Sampler {
 public:
  /// UserError for weights that are negative or not finite, that sum to 0, or of which fewer are above 0 than samples
  /// are drawn without replacement.
  WeightedRandomSampler(const Tensor& weights, int64_t num_samples, bool replacement = true,
                        SourceLocation at = SourceLocation::here());
  WeightedRandomSampler(std::vector<double> weights, int64_t num_samples, bool replacement = true,
                        SourceLocation at = SourceLocation::here());
};

/// Members are given in this order.
struct DistributedSamplerOptions {
  int64_t replicas = 1;  // processes
  int64_t rank = 0;      // of this one
  bool shuffle = true;
  bool drop_last = false;  // otherwise the first samples occur again, so that all processes have as many
};

/// Every replicas-th sample, another part for each process.
class DistributedSampler : public Sampler {
 public:
  explicit DistributedSampler(const DistributedSamplerOptions& options, SourceLocation at = SourceLocation::here());
};

}  // namespace fulgurite::data
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
