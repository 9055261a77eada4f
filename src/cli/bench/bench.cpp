#include "cli/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <fulgurite/fulgurite.h>
#include <fulgurite/profile.h>

#include "cli/commands.h"
#include "cli/flags.h"
#include "io/json.h"
#include "support/text/similar_names.h"

namespace fulgurite::cli {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double resident_mb(const char* key) {
  double kilobytes = 0;
  if (FILE* file = std::fopen("/proc/self/status", "r")) {
    char line[256];
    const std::string prefix = std::string(key) + ":";
    while (std::fgets(line, sizeof line, file))
      if (std::string(line).starts_with(prefix)) kilobytes = std::strtod(line + prefix.size(), nullptr);
    std::fclose(file);
  }
  return kilobytes / 1024;
}

void Report::operator()(const std::string& metric, double value) const {
  std::printf("{\"peer\": \"fulgurite\", \"case\": \"%s\", \"dtype\": \"%s\", \"metric\": \"%s\", \"value\": %s}\n",
              bench_case.c_str(), dtype.c_str(), metric.c_str(), json::number(value).c_str());
  std::fflush(stdout);
}

Meter::Meter(const std::function<void()>& call, double seconds, size_t least) {
  call();
  for (const double end = wall_seconds() + seconds;
       wall.size() < least || (wall_seconds() < end && wall.size() < 400);) {
    const double w = wall_seconds(), c = cpu_seconds();
    call();
    wall.push_back(wall_seconds() - w);
    cpu.push_back(cpu_seconds() - c);
  }
}

void Meter::report(const Report& report, const std::string& prefix) const {
  report(prefix + "ms_best", 1e3 * *std::min_element(wall.begin(), wall.end()));
  report(prefix + "ms_median", 1e3 * median(wall));
  report(prefix + "cpu_ms_best", 1e3 * *std::min_element(cpu.begin(), cpu.end()));
  report(prefix + "cpu_ms_median", 1e3 * median(cpu));
}

namespace {

// The limits that the other cases are measured against.
bool bench_limits(const Report& report) {
  if (report.bench_case != "limits") return false;
  const examine::MachineLimits limits = examine::machine_limits();
  report("f32_gflops", 1e-9 * limits.f32_operations);
  report("bf16_gflops", 1e-9 * limits.bf16_operations);
  // Measures more bytes than caches hold, in the access patterns of kernels: into other memory, with non-temporal
  // stores, in place, and only reading.
  const NoGrad no_grad;
  const Tensor from = zeros({int64_t{64} << 20}), to = zeros({int64_t{64} << 20});
  const auto past_caches = jit([](Tensor x) { return x * 2.0 + 1.0; }, {.executors = {"fuser"}});
  const auto speed = [&](double bytes_of_element, const std::function<void()>& call) {
    const Meter meter(call, 0.5, 5);
    return 1e-9 * bytes_of_element * static_cast<double>(int64_t{64} << 20) /
           *std::min_element(meter.wall.begin(), meter.wall.end());
  };
  const double copying = speed(8, [&] { Tensor(to).copy_(from); }), past = speed(8, [&] { past_caches(from); }),
               adding = speed(8, [&] { Tensor(to).add_(1.0); }), reading = speed(4, [&] { sum(from); });
  report("memory_gb_s", std::max({copying, past, adding, reading}));
  report("read_gb_s", reading);
  return true;
}

constexpr std::string_view cases[] = {"gpt6l", "gpt124m", "llama",  "gelu",         "layernorm", "softmax",
                                      "xent",  "adamw",   "decode", "ov_pointwise", "ov_mlp",    "limits"};

std::string hint_for(const std::string& name) {
  std::vector<KnownName> known;
  for (const std::string_view each : cases) known.push_back({each, each});
  const std::string hint = suggestion(similar_names(name, known));
  return hint.empty() ? "; see --help" : hint;
}

}  // namespace

int bench(const std::vector<std::string>& arguments) {
  std::string name, dtype = "f32", inputs;
  int64_t threads = 0;
  double seconds = 4;
  Flags flags("fulgurite bench CASE [--dtype f32|bf16] [--threads N] [--seconds S] [--inputs FILE]",
              {"fulgurite bench gelu --threads 1"});
  flags.positional("CASE", name,
                   "gpt6l gpt124m llama gelu layernorm softmax xent adamw decode ov_pointwise ov_mlp limits");
  flags.choice("dtype", dtype, {"f32", "bf16"}, "what to compute in (f32)");
  flags.integer("threads", threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.number("seconds", seconds, 0.01, 1e6, "how long to measure");
  flags.text("inputs", "FILE", inputs,
             "of gpt6l and gpt124m: safetensors with the model's initial values and its tokens");
  if (!flags.parse(arguments)) return 0;
  if (name.empty()) throw WrongUse("a case is missing; see --help");
  if (threads > 0) set_num_threads(static_cast<int>(threads));
  const Report report{name, dtype == "f32" ? "fp32" : "bf16"};
  const bool trains = name == "gpt6l" || name == "gpt124m";
  const bool has_bf16 = trains || name == "llama" || name == "decode";
  if (dtype == "bf16" && !has_bf16) throw WrongUse("the case " + name + " is measured in f32 only");
  if (!inputs.empty() && !trains) throw WrongUse("the case " + name + " takes no --inputs");
  const bool is_known = bench_training(report, seconds, inputs) || bench_layers(report, seconds) ||
                        bench_decode(report, seconds) || bench_calls(report, seconds) || bench_limits(report);
  if (!is_known) throw WrongUse("there is no case " + name + hint_for(name));
  return 0;
}

}  // namespace fulgurite::cli
