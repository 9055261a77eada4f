// The fusions that peers are compared on, forward and backward, on one executor list each: prints one JSON line a case.
//   bench_fusions [--executors onednn,fuser] [--seconds 0.5] [--only NAME] [--dtype f32] [--excess 1]
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

using namespace fulgurite;

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double cpu_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

struct Options {
  std::vector<std::string> executors{"onednn", "fuser"};
  double seconds = 0.5;
  std::string only;
  Dtype dtype = Dtype::f32;  // but of adamw
  bool allows_excess_precision = false;
};

void measure(const Options& options, const std::string& name, const std::function<void()>& run) {
  if (!options.only.empty() && options.only != name) return;
  const auto first = Clock::now();
  run();
  const double first_ms = milliseconds_since(first);
  double best = 1e30, best_cpu = 1e30;
  int calls = 0;
  for (const auto start = Clock::now(); milliseconds_since(start) < 1000 * options.seconds || calls < 3; ++calls) {
    const auto begin = Clock::now();
    const double cpu = cpu_milliseconds();
    run();
    best = std::min(best, milliseconds_since(begin));
    best_cpu = std::min(best_cpu, cpu_milliseconds() - cpu);
  }
  std::printf("{\"case\": \"%s\", \"ms_best\": %.4g, \"cpu_ms_best\": %.4g, \"first_ms\": %.4g, \"calls\": %d}\n",
              name.c_str(), best, best_cpu, first_ms, calls);
  std::fflush(stdout);
}

// Forward and backward of one jitted function.
template <class F>
void forward_backward(const Options& options, const std::string& name, F function, std::vector<Tensor> inputs,
                      Tensor gradient) {
  auto f = jit(function, {.executors = options.executors, .allow_excess_precision = options.allows_excess_precision});
  for (Tensor& input : inputs)
    if (is_floating(input.dtype())) input = input.to(options.dtype).requires_grad_();
  if (gradient.defined()) gradient = gradient.to(options.dtype);
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs)
    if (is_floating(input.dtype())) leaves.push_back(input);
  measure(options, name, [&] {
    const Tensor y = f(inputs);
    autograd::grad({y}, leaves, gradient.defined() ? std::vector<Tensor>{gradient} : std::vector<Tensor>{});
  });
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--executors") options.executors = split_at_commas(value);
    else if (flag == "--seconds") options.seconds = std::atof(value.c_str());
    else if (flag == "--only") options.only = value;
    else if (flag == "--dtype")
      options.dtype = value == "bf16" ? Dtype::bf16 : value == "f16" ? Dtype::f16 : Dtype::f32;
    else if (flag == "--excess") options.allows_excess_precision = value == "1";
    else return std::fprintf(stderr, "unknown flag %s\n", flag.c_str()), 2;
  }
  manual_seed(1);
  using List = std::vector<Tensor>;
  const auto wants = [&](const char* name) { return options.only.empty() || options.only == name; };
  if (wants("gelu")) {
    const Tensor x = randn({4096, 4096}), dy = randn({4096, 4096});
    forward_backward(
        options, "gelu", [](List a) { return nn::gelu(a[0] * a[1] + a[2], "tanh"); }, {x, randn({4096}), randn({4096})},
        dy);
  }
  if (wants("layernorm")) {
    const Tensor x = randn({8192, 1024}), dy = randn({8192, 1024});
    forward_backward(
        options, "layernorm", [](List a) { return nn::layer_norm(a[0], {1024}, a[1], a[2]); },
        {x, randn({1024}), randn({1024})}, dy);
  }
  if (wants("softmax")) {
    const Tensor x = randn({8192, 1024}), dy = randn({8192, 1024});
    forward_backward(
        options, "softmax", [](List a) { return softmax(a[0], -1); }, {x}, dy);
  }
  if (wants("xent")) {
    const Tensor x = randn({2048, 50257}), t = randint(0, 50257, {2048});
    forward_backward(
        options, "xent", [](List a) { return nn::cross_entropy(a[0], a[1]); }, {x, t}, Tensor());
  }
  if (wants("adamw")) {
    Tensor p = randn({124, 1000, 100}), g = randn({124, 1000, 100}), m = zeros({124, 1000, 100}),
           v = zeros({124, 1000, 100});
    Tensor step = full({}, 1.0), rate = full({}, 1e-3);
    auto f = jit(
        [](Tensor p, Tensor g, Tensor m, Tensor v, Tensor step, Tensor rate) {
          auto [p1, m1, v1] = prims::adamw(p, g, m, v, step, rate, 0.9, 0.999, 1e-8, 0.1);
          p.copy_(p1);
          m.copy_(m1);
          v.copy_(v1);
        },
        {.executors = options.executors});
    measure(options, "adamw", [&] { f(p, g, m, v, step, rate); });
  }
  return 0;
}
