#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

#include <fulgurite/repro.h>

#include "examine/profile/quantile.h"
#include "runtime/copy_elements.h"
#include "ir/analysis/trace_values.h"
#include "pipeline/debug/compare_tensors.h"
#include "support/context.h"
#include "runtime/threads/parallel_for.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::examine {

namespace {

double microseconds_of(const Side& run, const std::vector<Tensor>& tensors) {
  const auto start = std::chrono::steady_clock::now();
  run(tensors);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

/// Leaves the caches as the preceding ops of a program leave them: long unused memory is evicted, since other ops have
/// moved as many bytes as described since each tensor was touched.
class OpsBefore {
 public:
  explicit OpsBefore(const Conditions& conditions) : memory_(cache_bytes(), 0) {
    const auto& [described, tensors, others] = conditions;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (described[i].moved_since >= 0) touched_.push_back({tensors[i], described[i].moved_since});
      const std::string& name = described[i].name;
      const auto is_over_it = [&name](const FusionInput& other) { return other.is_made && other.shares_with == name; };
      if (std::ranges::any_of(described, is_over_it)) overwritten_.emplace_back(tensors[i], tensors[i].clone());
    }
    std::ranges::stable_sort(touched_, std::ranges::greater(), &Touched::moved_since);
  }

  /// `like` runs the like on other tensors.
  template <class Like>
  void run(const Like& like) {
    for (const auto& [tensor, elements] : overwritten_) copy_elements(elements, tensor);
    move_other(static_cast<int64_t>(memory_.size()));
    like();
    for (size_t i = 0; i < touched_.size(); ++i) {
      const Storage& storage = *touched_[i].tensor.impl()->storage;
      touch(static_cast<char*>(storage.data), storage.bytes, false);
      const bool is_last = i + 1 == touched_.size();
      const int64_t next = is_last ? 0 : touched_[i + 1].moved_since + touched_[i + 1].tensor.impl()->storage->bytes;
      move_other(touched_[i].moved_since - next);
    }
  }

 private:
  struct Touched {
    Tensor tensor;
    int64_t moved_since;
  };
  static constexpr int64_t line = 64;

  static size_t cache_bytes() {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::clamp<size_t>(cache > 0 ? 2 * static_cast<size_t>(cache) : 0, size_t{16} << 20, size_t{256} << 20);
  }
  // Ops read twice as much as they write.
  void touch(char* memory, int64_t bytes, bool writes) {
    parallel_for((bytes + line - 1) / line, 256, [&](int64_t begin, int64_t end) {
      int64_t sum = 0;
      for (int64_t i = begin; i < end; ++i) {
        if (writes && i % 3 == 0) ++memory[i * line];
        else sum += memory[i * line];
      }
      read_.fetch_add(sum, std::memory_order_relaxed);
    });
  }
  void move_other(int64_t bytes) {
    while (bytes > 0) {
      const int64_t part = std::min(bytes, static_cast<int64_t>(memory_.size()) - at_);
      touch(memory_.data() + at_, part, true);
      at_ = (at_ + part) % static_cast<int64_t>(memory_.size());
      bytes -= part;
    }
  }

  std::vector<Touched> touched_;
  std::vector<std::pair<Tensor, Tensor>> overwritten_;  // with their elements
  std::vector<char> memory_;
  int64_t at_ = 0;
  std::atomic<int64_t> read_ = 0;
};

// Prints how a result compares; returns true if it agrees.
bool print_result(size_t number, const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  std::printf("  result %zu: ", number);
  if (type_text(actual) != type_text(expected)) {
    std::printf("%s, and %s on eager\n", type_text(actual).c_str(), type_text(expected).c_str());
    return false;
  }
  AllowedDifference allowed = allowed_difference(expected.dtype());
  if (is_floating(expected.dtype()))
    allowed = {tolerance.relative.value_or(allowed.relative), tolerance.absolute.value_or(allowed.absolute)};
  const auto found = find_difference(actual, expected, allowed);
  if (!found) {
    std::printf("\"%s\", agrees (apart by at most %.2g of the largest element)\n", type_text(expected).c_str(),
                relative_difference(actual, expected));
    return true;
  }
  std::printf("\"%s\", differs: element %s is %.9g, and %.9g on eager\n", type_text(expected).c_str(),
              place_text(expected, found->index).c_str(), found->actual, found->expected);
  return false;
}

}  // namespace

int compare(const std::string& title, const Side& subject, const Side& reference, Tolerance tolerance, int runs,
            const Conditions& conditions) {
  OpsBefore before(conditions);
  GeneratorState& generator = context().generator;
  const RandomState draws = generator.state();
  const std::vector<Tensor> actual = subject(conditions.tensors);
  generator.set_state(draws);  // both draw the same numbers
  const std::vector<Tensor> expected = reference(conditions.others);
  std::printf("%s\n", title.c_str());
  bool agrees = actual.size() == expected.size();
  if (!agrees) std::printf("  %zu results, and %zu on eager\n", actual.size(), expected.size());
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i)
    agrees = print_result(i, actual[i], expected[i], tolerance) && agrees;
  std::vector<double> times, reference_times;
  for (int i = 0; i < runs; ++i) {
    before.run([&] { subject(conditions.others); });
    times.push_back(microseconds_of(subject, conditions.tensors));
    if (i % 4 != 0) continue;
    before.run([&] { reference(conditions.others); });
    reference_times.push_back(microseconds_of(reference, conditions.tensors));
  }
  if (runs > 0) {
    const double own = median(times), eager = median(reference_times);
    std::printf("  %.1f us (a quarter of the runs within %.1f, the best %.1f); eager %.1f us (%.2f times as long)\n",
                own, quantile(times, 0.25), quantile(times, 0), eager, eager / own);
  }
  std::printf("%s\n", agrees ? "agrees" : "differs");
  return agrees ? 0 : 1;
}

}  // namespace fulgurite::examine
