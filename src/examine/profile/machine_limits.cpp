#include <algorithm>
#include <chrono>

#include <fulgurite/extend.h>
#include <fulgurite/fulgurite.h>
#include <fulgurite/profile.h>

#include "support/context.h"

namespace fulgurite::examine {

namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The least time of a call, among those of about so many seconds and at least three.
template <class Call>
double min_seconds(double patience, Call&& call) {
  call();
  double least = 1e30;
  const double end = seconds_now() + patience;
  for (int i = 0; i < 3 || seconds_now() < end; ++i) {
    const double begin = seconds_now();
    call();
    least = std::min(least, seconds_now() - begin);
  }
  return least;
}

// Measures larger and larger matmuls, until one takes some milliseconds.
double product_operations(Dtype dtype) {
  const NoGrad no_grad;
  const std::vector<std::string> all = all_executors();
  const bool has_library = std::ranges::find(all, "onednn") != all.end();
  const auto product =
      jit([](Tensor x, Tensor y) { return matmul(x, y); }, {.executors = {has_library ? "onednn" : "eager"}});
  double most = 0;
  for (int64_t size = 256; size <= 1024; size *= 2) {
    const Tensor a = ones({size, size}).to(dtype), b = ones({size, size}).to(dtype);
    const double seconds = min_seconds(0.02, [&] { product(a, b); });
    most = std::max(most, 2.0 * static_cast<double>(size * size * size) / seconds);
    if (seconds > 0.01) break;
  }
  return most;
}

MachineLimits measure(int threads) {
  MachineLimits limits;
  limits.threads = threads;
  for (const int64_t bytes : {int64_t{128} << 10, int64_t{1} << 20, int64_t{8} << 20, int64_t{64} << 20}) {
    // Half of them are read, half written, over and over in the same memory.
    const NoGrad no_grad;
    const Tensor from = zeros({bytes / 8}), to = zeros({bytes / 8});
    limits.bandwidths.push_back(
        {bytes, static_cast<double>(bytes) / min_seconds(0.01, [&] { Tensor(to).copy_(from); })});
  }
  limits.f32_operations = product_operations(Dtype::f32);
  limits.bf16_operations = std::max(limits.f32_operations, product_operations(Dtype::bf16));
  return limits;
}

}  // namespace

double MachineLimits::bandwidth(int64_t bytes) const {
  if (bandwidths.empty()) return 0;
  const auto above = std::ranges::find_if(bandwidths, [&](const Bandwidth& b) { return b.bytes >= bytes; });
  if (above == bandwidths.begin()) return above->bytes_per_second;
  if (above == bandwidths.end()) return bandwidths.back().bytes_per_second;
  const Bandwidth &low = *(above - 1), &high = *above;
  const double part = static_cast<double>(bytes - low.bytes) / static_cast<double>(high.bytes - low.bytes);
  return low.bytes_per_second + part * (high.bytes_per_second - low.bytes_per_second);
}

MachineLimits machine_limits() {
  Context& process = context();
  const std::lock_guard lock(process.measuring);
  const int threads = process.threads;
  if (!process.limits || process.limits->threads != threads)
    process.limits = std::make_shared<const MachineLimits>(measure(threads));
  return *process.limits;
}

}  // namespace fulgurite::examine
