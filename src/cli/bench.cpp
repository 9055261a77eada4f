#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/gpt_run.h"
#include "io/json.h"

namespace fulgurite::cli {

namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Report {
  std::string bench_case, dtype;
  void operator()(const char* metric, double value) const {
    std::printf("{\"peer\": \"fulgurite\", \"case\": \"%s\", \"dtype\": \"%s\", \"metric\": \"%s\", \"value\": %s}\n", bench_case.c_str(),
                dtype.c_str(), metric, json::number(value).c_str());
    std::fflush(stdout);
  }
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Resident memory from the kernel's table: VmRSS or VmHWM, in MB.
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

// The peers' seeded weights cannot be drawn here bit for bit, so the initial values are our own with the same deviations: the time is that
// of the same work, and the first loss is near ln(vocabulary) as theirs is.
void gpt6l(const Report& report, double seconds) {
  constexpr int64_t batch = 8, block = 256, vocabulary = 65;
  manual_seed(0);
  models::Gpt model = models::make_gpt(
      {.vocabulary = vocabulary, .layers = 6, .heads = 6, .width = 384, .block = block, .bias = true});
  const double base = resident_mb("VmRSS");
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-3, .weight_decay = 0.1});
  auto step = jit([&](Tensor tokens, Tensor targets) {
    const auto loss_of = [](models::Gpt m, Tensor x, Tensor y) { return m.loss(x, y); };
    const auto [loss, gradients] = value_and_grad<0>(loss_of)(model, tokens, targets);
    std::vector<Tensor> flat;
    for (const auto& [name, gradient] : nn::model_detail::named_tensors(gradients))
      if (gradient.defined()) flat.push_back(gradient);
    optimizer.step(nn::parameters(model), flat);
    return loss;
  });
  // A skewed token stream, so that the loss falls while training.
  const int64_t batches = 16, count = batch * block * batches + 1;
  const Tensor uniform = rand({count});
  const std::vector<float> draws = uniform.to_vector<float>();
  std::vector<int64_t> stream;
  for (const float u : draws) stream.push_back(static_cast<int64_t>(std::pow(static_cast<double>(u), 3) * vocabulary));
  const auto run = [&](int64_t i) {
    const NoGrad no_grad;
    const auto start = stream.begin() + static_cast<std::ptrdiff_t>((i % batches) * batch * block);
    const Tensor x = tensor(std::vector<int64_t>(start, start + batch * block));
    const Tensor y = tensor(std::vector<int64_t>(start + 1, start + 1 + batch * block));
    return step(x.reshape({batch, block}), y.reshape({batch, block})).item<double>();
  };
  const double start = wall_seconds();
  const double first = run(0);
  report("first_step_s", wall_seconds() - start);
  report("loss_first", first);
  double loss = first;
  for (int64_t i = 1; i < 4; ++i) loss = run(i);
  report("loss_step3", loss);
  std::vector<double> wall, cpu;
  int64_t i = 4;
  for (const double end = wall_seconds() + seconds; wall.size() < 4 || (wall_seconds() < end && wall.size() < 400); ++i) {
    const double w = wall_seconds(), c = cpu_seconds();
    run(i);
    wall.push_back(wall_seconds() - w);
    cpu.push_back(cpu_seconds() - c);
  }
  report("step_ms_best", 1e3 * *std::min_element(wall.begin(), wall.end()));
  report("step_ms_median", 1e3 * median(wall));
  report("step_cpu_ms_best", 1e3 * *std::min_element(cpu.begin(), cpu.end()));
  report("step_cpu_ms_median", 1e3 * median(cpu));
  report("tok_s_best", static_cast<double>(batch * block) / *std::min_element(wall.begin(), wall.end()));
  report("tok_s_cpu", static_cast<double>(batch * block) / *std::min_element(cpu.begin(), cpu.end()));
  report("peak_rss_mb", resident_mb("VmHWM") - base);
}

// Three pointwise operators on 16 elements: the cost of a call.
void ov_pointwise(const Report& report, double) {
  const Tensor a = randn({16}), b = randn({16});
  auto f = jit([](Tensor x, Tensor y) { return tanh(x * y) + x; });
  const auto measure = [&](const char* best_name, const char* median_name, const std::function<void()>& call) {
    for (int i = 0; i < 200; ++i) call();
    std::vector<double> micros;
    for (int repeat = 0; repeat < 7; ++repeat) {
      const double start = cpu_seconds();
      for (int i = 0; i < 1000; ++i) call();
      micros.push_back((cpu_seconds() - start) * 1e3);
    }
    report(best_name, *std::min_element(micros.begin(), micros.end()));
    report(median_name, median(micros));
  };
  measure("us_best", "us_median", [&] { f(a, b); });
  measure("eager_us_best", "eager_us_median", [&] {
    const Tensor product = a * b;
    const Tensor bent = tanh(product);
    const Tensor result = bent + a;
  });
}

}  // namespace

int bench(const std::vector<std::string>& arguments) {
  std::string name, dtype = "f32";
  int64_t threads = 0;
  double seconds = 4;
  Flags flags("fulgurite bench CASE [--dtype f32|bf16] [--threads N] [--seconds S]");
  flags.positional("CASE", name, "gpt6l or ov_pointwise");
  flags.choice("dtype", dtype, {"f32", "bf16"}, "what to compute in (f32)");
  flags.integer("threads", threads, 0, 1024, "threads; 0: the CPUs there are");
  flags.number("seconds", seconds, 0.01, 1e6, "how long to measure");
  if (!flags.parse(arguments)) return 0;
  if (name.empty()) throw WrongUse("a case is missing; see --help");
  if (dtype == "bf16") throw UserError("--dtype bf16 is not supported yet");
  if (threads > 0) set_num_threads(static_cast<int>(threads));
  const Report report{name, "fp32"};
  if (name == "gpt6l") gpt6l(report, seconds);
  else if (name == "ov_pointwise") ov_pointwise(report, seconds);
  else throw WrongUse("the case " + name + " is not supported yet; there are gpt6l and ov_pointwise");
  return 0;
}

}  // namespace fulgurite::cli
