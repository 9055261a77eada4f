#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <fulgurite/repro.h>

#include "ir/trace_values.h"
#include "pipeline/compare_tensors.h"
#include "support/context.h"
#include "support/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::examine {

namespace {

double microseconds_of(const std::function<std::vector<Tensor>()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

// Of the process.
double processor_microseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

/// Takes the place of what is in the caches, as whatever runs between two runs of a line in its program does, and leaves there what the lines
/// just before it do.
class OtherWork {
 public:
  explicit OtherWork(const std::vector<Tensor>& recent) : recent_(recent), memory_(bytes() / sizeof(int64_t)) {}
  void run() {
    for (size_t i = 0; i < memory_.size(); i += 8) ++memory_[i];
    for (const Tensor& tensor : recent_) {
      const auto* const bytes = static_cast<const char*>(tensor.impl()->storage->data);
      for (int64_t i = 0; i < tensor.impl()->storage->bytes; i += 64) memory_[0] += bytes[i];
    }
  }

 private:
  static size_t bytes() {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::clamp<size_t>(cache > 0 ? 2 * static_cast<size_t>(cache) : 0, size_t{16} << 20, size_t{256} << 20);
  }
  const std::vector<Tensor>& recent_;
  std::vector<int64_t> memory_;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Says how a result compares; whether it agrees.
bool print_result(size_t number, const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  std::printf("  result %zu: ", number);
  if (type_text(actual) != type_text(expected)) {
    std::printf("%s, and %s on eager\n", type_text(actual).c_str(), type_text(expected).c_str());
    return false;
  }
  AllowedDifference allowed = allowed_difference(expected.dtype());
  if (is_floating(expected.dtype())) allowed = {tolerance.relative.value_or(allowed.relative), tolerance.absolute.value_or(allowed.absolute)};
  const auto found = find_difference(actual, expected, allowed);
  if (!found) {
    std::printf("\"%s\", agrees (apart by at most %.2g of the largest element)\n", type_text(expected).c_str(),
                relative_difference(actual, expected));
    return true;
  }
  std::printf("\"%s\", differs: element %s is %.9g, and %.9g on eager\n", type_text(expected).c_str(), place_text(expected, found->index).c_str(),
              found->actual, found->expected);
  return false;
}

}  // namespace

std::vector<Tensor> recent_of(const std::vector<FusionInput>& described, const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < described.size(); ++i)
    if (described[i].is_recent) out.push_back(tensors.at(i));
  return out;
}

int compare(const std::string& title, const std::function<std::vector<Tensor>()>& subject, const std::function<std::vector<Tensor>()>& reference,
            Tolerance tolerance, int runs, const std::vector<Tensor>& recent) {
  Generator& generator = context().generator;
  const RandomState draws = generator.state();
  const std::vector<Tensor> actual = subject();
  generator.set_state(draws);  // both draw the same numbers
  const std::vector<Tensor> expected = reference();
  std::printf("%s\n", title.c_str());
  bool agrees = actual.size() == expected.size();
  if (!agrees) std::printf("  %zu results, and %zu on eager\n", actual.size(), expected.size());
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) agrees = print_result(i, actual[i], expected[i], tolerance) && agrees;
  std::vector<double> times, processor_times, reference_times;
  OtherWork other(recent);
  for (int i = 0; i < runs; ++i) {
    other.run();
    const double before = processor_microseconds();
    times.push_back(microseconds_of(subject));
    processor_times.push_back(processor_microseconds() - before);
    other.run();
    reference_times.push_back(microseconds_of(reference));
  }
  if (runs > 0) {
    const double own = median(times), eager = median(reference_times);
    std::printf("  %.1f us, eager %.1f us (%.2f times as long)\n", own, eager, eager / own);
    std::printf("  %.1f us of processor time at best, of all threads together\n", *std::ranges::min_element(processor_times));
  }
  std::printf("%s\n", agrees ? "agrees" : "differs");
  return agrees ? 0 : 1;
}

}  // namespace fulgurite::examine
