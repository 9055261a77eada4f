#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/dtype.h>

namespace fulgurite::cli {

double wall_seconds();
/// The CPU time of the process.
double cpu_seconds();
double median(std::vector<double>);
/// VmRSS or VmHWM of the kernel's table, in MB.
double resident_mb(const char* key);

/// Prints one JSON line for each figure, as the peers' benchmark files do.
struct Report {
  std::string bench_case, dtype;
  void operator()(const std::string& metric, double value) const;
  bool is_bf16() const { return dtype == "bf16"; }
  std::optional<Dtype> autocast() const { return is_bf16() ? std::optional(Dtype::bf16) : std::nullopt; }
};

struct Meter {
  std::vector<double> wall, cpu;  // seconds of each call
  /// Calls once to warm up, then for so many seconds: at least `least` times, at most 400.
  Meter(const std::function<void()>& call, double seconds, size_t least = 4);
  /// ms_best, ms_median, cpu_ms_best, cpu_ms_median, behind a prefix.
  void report(const Report&, const std::string& prefix = "") const;
};

/// The cases, by what they measure.
bool bench_training(const Report&, double seconds, const std::string& inputs);  // gpt6l, gpt124m; inputs: a file, or ""
bool bench_layers(const Report&, double seconds);  // llama, gelu, layernorm, softmax, xent, adamw
bool bench_decode(const Report&, double seconds);  // decode
bool bench_calls(const Report&, double seconds);   // ov_pointwise, ov_mlp

}  // namespace fulgurite::cli
