#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace fulgurite {

/// The durations of a program's fusions in its last runs. Thread-safe.
class FusionTimes {
 public:
  static constexpr size_t most = 8;

  explicit FusionTimes(size_t fusions) : last_(fusions) {}
  size_t size() const { return last_.size(); }
  /// Adds one run: the ticks of each fusion.
  void add(std::span<const uint64_t> ticks);
  /// Microseconds of the last runs, at most eight, the newest last.
  std::vector<double> last(size_t fusion) const;

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::vector<std::array<uint64_t, most>> last_;
  uint64_t runs_ = 0;
};

}  // namespace fulgurite
