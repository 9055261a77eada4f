// Attention alone, straight from a packed projection, forward and backward measured separately: prints one JSON line a
// case and direction.
//   bench_attention [--dtype bf16] [--only NAME] [--seconds 0.5]
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include <fulgurite/fulgurite.h>

using namespace fulgurite;

namespace {

double cpu_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}
double wall_milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void measure(const std::string& name, const char* direction, double seconds, const std::function<void()>& run) {
  run();
  double best = 1e30, best_cpu = 1e30;
  int calls = 0;
  for (const double start = wall_milliseconds(); wall_milliseconds() - start < 1000 * seconds || calls < 3; ++calls) {
    const double begin = wall_milliseconds(), cpu = cpu_milliseconds();
    run();
    best = std::min(best, wall_milliseconds() - begin);
    best_cpu = std::min(best_cpu, cpu_milliseconds() - cpu);
  }
  std::printf("{\"case\": \"%s\", \"direction\": \"%s\", \"ms_best\": %.4g, \"cpu_ms_best\": %.4g}\n", name.c_str(),
              direction, best, best_cpu);
  std::fflush(stdout);
}

struct Case {
  const char* name;
  int64_t batch, heads, key_value_heads, length, width;
  bool is_causal;
};

/// Query, key and value as views of one [batch, length, all heads * width] tensor, the output of a transformer's
/// projection.
void run(const Case& c, Dtype dtype, double seconds) {
  const int64_t all_heads = c.heads + 2 * c.key_value_heads;
  const Tensor packed = randn({c.batch, c.length, all_heads * c.width}).to(dtype);
  const auto part = [&](int64_t first, int64_t count) {
    const Tensor columns = narrow(packed, 2, first * c.width, count * c.width);
    return transpose(reshape(columns, {c.batch, c.length, count, c.width}), 1, 2);
  };
  Tensor query = part(0, c.heads), key = part(c.heads, c.key_value_heads),
         value = part(c.heads + c.key_value_heads, c.key_value_heads);
  const Tensor grad = transpose(
      reshape(randn({c.batch, c.length, c.heads * c.width}).to(dtype), {c.batch, c.length, c.heads, c.width}), 1, 2);
  const auto attend = [&] {
    return nn::scaled_dot_product_attention(query, key, value, {}, 0.0, c.is_causal, {}, c.heads != c.key_value_heads);
  };
  measure(c.name, "forward", seconds, [&] { attend(); });
  query.requires_grad_();
  key.requires_grad_();
  value.requires_grad_();
  const Tensor result = attend();
  measure(c.name, "backward", seconds, [&] {
    autograd::grad({result}, {query, key, value}, {grad}, {.retain_graph = true});
  });
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr Case cases[] = {
      {"gpt6l", 8, 6, 6, 256, 64, true},     {"llama", 1, 16, 16, 512, 64, true}, {"long", 1, 6, 6, 2048, 64, true},
      {"grouped", 1, 16, 4, 512, 128, true}, {"all", 4, 8, 8, 256, 64, false},    {"odd", 3, 5, 5, 197, 40, false},
  };
  std::string only;
  Dtype dtype = Dtype::f32;
  double seconds = 0.5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--dtype" && (value == "f32" || value == "bf16")) dtype = value == "f32" ? Dtype::f32 : Dtype::bf16;
    else if (flag == "--only") only = value;
    else if (flag == "--seconds") seconds = std::atof(value.c_str());
    else return std::fprintf(stderr, "unknown flag %s %s\n", flag.c_str(), value.c_str()), 2;
  }
  manual_seed(1);
  for (const Case& c : cases)
    if (only.empty() || only == c.name) run(c, dtype, seconds);
  return 0;
}
