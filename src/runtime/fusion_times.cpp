#include "runtime/fusion_times.h"

#include <algorithm>

#include "runtime/ticks.h"

namespace fulgurite {

void FusionTimes::add(std::span<const uint64_t> ticks) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < ticks.size(); ++i) last_[i][runs_ % most] = ticks[i];
  ++runs_;
}

std::vector<double> FusionTimes::last(size_t fusion) const {
  const double microseconds = microseconds_per_tick();
  std::vector<double> out;
  const std::lock_guard lock(mutex_);
  for (uint64_t run = runs_ - std::min<uint64_t>(runs_, most); run < runs_; ++run)
    out.push_back(microseconds * static_cast<double>(last_[fusion][run % most]));
  return out;
}

}  // namespace fulgurite
