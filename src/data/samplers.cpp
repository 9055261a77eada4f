#include <fulgurite/samplers.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fulgurite/error.h>

#include "data/numbers.h"
#include "support/text/text.h"

namespace fulgurite::data {

using data_detail::mixed;
using data_detail::Numbers;

namespace {

std::vector<int64_t> all_of(int64_t size) {
  std::vector<int64_t> out(static_cast<size_t>(size));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

void shuffle(std::vector<int64_t>& order, Numbers& numbers) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[numbers.below(i)]);
}

Numbers numbers_of(uint64_t seed, int64_t epoch) { return Numbers(mixed(seed, static_cast<uint64_t>(epoch))); }

std::vector<int64_t> drawn_evenly(int64_t size, int64_t count, Numbers numbers) {
  if (size == 0 && count > 0) throw UserError(text::cat("RandomSampler: ", count, " samples of an empty dataset"));
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (int64_t& index : out) index = static_cast<int64_t>(numbers.below(static_cast<uint64_t>(size)));
  return out;
}

// Sums of the weights up to each one, which the draws are looked up in.
std::vector<int64_t> drawn_again(const std::vector<double>& weights, int64_t count, Numbers numbers) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (int64_t& index : out) {
    const auto found = std::upper_bound(sums.begin(), sums.end(), numbers.share() * sums.back());
    index = std::min<int64_t>(found - sums.begin(), static_cast<int64_t>(sums.size()) - 1);
    while (weights[static_cast<size_t>(index)] == 0) --index;  // the last sum may be reached by rounding
  }
  return out;
}

// The first arrivals of processes with these rates.
std::vector<int64_t> drawn_once(const std::vector<double>& weights, int64_t count, Numbers numbers) {
  std::vector<std::pair<double, int64_t>> arrivals;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double waited = -std::log1p(-numbers.share());
    if (weights[i] > 0) arrivals.emplace_back(waited / weights[i], static_cast<int64_t>(i));
  }
  std::sort(arrivals.begin(), arrivals.end());
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(arrivals[static_cast<size_t>(i)].second);
  return out;
}

std::vector<double> checked_weights(std::vector<double> weights, int64_t count, bool replacement, SourceLocation at) {
  const auto is_bad = [](double weight) { return !(weight >= 0) || std::isinf(weight); };
  if (std::any_of(weights.begin(), weights.end(), is_bad))
    throw UserError("WeightedRandomSampler: the weights must be finite and not negative", at);
  const int64_t positive = std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 0; });
  if (positive == 0) throw UserError("WeightedRandomSampler: the weights sum to 0", at);
  if (count < 0 || (!replacement && count > positive))
    throw UserError(text::cat("WeightedRandomSampler: ", count, " samples ", replacement ? "" : "without replacement ",
                              "of ", positive, " weights above 0"),
                    at);
  return weights;
}

std::vector<double> numbers_in(const Tensor& weights, SourceLocation at) {
  if (!weights.defined() || weights.ndim() != 1)
    throw UserError("WeightedRandomSampler: the weights are a tensor of one dimension", at);
  return weights.detach(at).to(Dtype::f64, at).contiguous(at).to_vector<double>();
}

}  // namespace

std::vector<int64_t> Sampler::order(int64_t size, uint64_t seed, int64_t epoch) const {
  std::vector<int64_t> out = order_(size, seed, epoch);
  for (const int64_t index : out)
    if (index < 0 || index >= size)
      throw UserError(text::cat("the sampler gave the index ", index, " of a dataset of ", size, " samples"));
  if (const int64_t expected = count(size); static_cast<int64_t>(out.size()) != expected)
    throw UserError(text::cat("the sampler gave ", out.size(), " samples, its count is ", expected));
  return out;
}

SequentialSampler::SequentialSampler()
    : Sampler([](int64_t size, uint64_t, int64_t) { return all_of(size); }, [](int64_t size) { return size; }) {}

RandomSampler::RandomSampler(const RandomSamplerOptions& options, SourceLocation at)
    : Sampler(
          [options](int64_t size, uint64_t seed, int64_t epoch) {
            Numbers numbers = numbers_of(seed, epoch);
            const int64_t count = options.num_samples.value_or(size);
            if (options.replacement) return drawn_evenly(size, count, numbers);
            if (count > size)
              throw UserError(
                  text::cat("RandomSampler: ", count, " samples without replacement of a dataset of ", size));
            std::vector<int64_t> order = all_of(size);
            shuffle(order, numbers);
            order.resize(static_cast<size_t>(count));
            return order;
          },
          [options](int64_t size) { return options.num_samples.value_or(size); }) {
  if (options.num_samples && *options.num_samples < 0)
    throw UserError(text::cat("RandomSampler: num_samples must not be negative: ", *options.num_samples), at);
}

SubsetRandomSampler::SubsetRandomSampler(std::vector<int64_t> indices)
    : Sampler(
          [indices](int64_t, uint64_t seed, int64_t epoch) {
            Numbers numbers = numbers_of(seed, epoch);
            std::vector<int64_t> order = indices;
            shuffle(order, numbers);
            return order;
          },
          [count = static_cast<int64_t>(indices.size())](int64_t) { return count; }) {}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> given, int64_t num_samples, bool replacement,
                                             SourceLocation at)
    : Sampler(
          [weights = checked_weights(std::move(given), num_samples, replacement, at), num_samples, replacement](
              int64_t size, uint64_t seed, int64_t epoch) {
            if (static_cast<int64_t>(weights.size()) != size)
              throw UserError(text::cat("WeightedRandomSampler: ", weights.size(), " weights for ", size, " samples"));
            const Numbers numbers = numbers_of(seed, epoch);
            return replacement ? drawn_again(weights, num_samples, numbers) : drawn_once(weights, num_samples, numbers);
          },
          [num_samples](int64_t) { return num_samples; }) {}
WeightedRandomSampler::WeightedRandomSampler(const Tensor& weights, int64_t num_samples, bool replacement,
                                             SourceLocation at)
    : WeightedRandomSampler(numbers_in(weights, at), num_samples, replacement, at) {}

namespace {

int64_t part_size(const DistributedSamplerOptions& options, int64_t size) {
  return (options.drop_last ? size : size + options.replicas - 1) / options.replicas;
}

}  // namespace

DistributedSampler::DistributedSampler(const DistributedSamplerOptions& options, SourceLocation at)
    : Sampler(
          [options](int64_t size, uint64_t seed, int64_t epoch) {
            Numbers numbers = numbers_of(seed, epoch);
            std::vector<int64_t> order = all_of(size), out;
            if (options.shuffle) shuffle(order, numbers);
            for (int64_t i = 0; i < part_size(options, size); ++i)
              out.push_back(order[static_cast<size_t>((i * options.replicas + options.rank) % size)]);
            return out;
          },
          [options](int64_t size) { return part_size(options, size); }) {
  if (options.replicas < 1 || options.rank < 0 || options.rank >= options.replicas)
    throw UserError(
        text::cat("DistributedSampler: there is no rank ", options.rank, " of ", options.replicas, " replicas"), at);
}

}  // namespace fulgurite::data
