// The cost of symbolic sizes: a GPT's training step with symbolic batch and length at 40 pairs of them, against the
// step compiled for each pair; and a LLaMA's decoding with a growing key-value cache. One JSON line for each case and
// metric; the two are timed alternately and the minimum of several rounds counts.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>
#include <fulgurite/models/llama.h>

namespace fulgurite {

namespace {

void report(const char* bench_case, const char* metric, double value) {
  std::printf("{\"case\": \"%s\", \"metric\": \"%s\", \"value\": %.4g}\n", bench_case, metric, value);
  std::fflush(stdout);
}

/// The CPU time of the one thread that runs, so that other processes do not matter.
double processor_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Includes the compile, if the call has to wait for one.
template <class Run>
double wall_milliseconds(Run&& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

template <class Run>
double milliseconds(Run&& run) {
  const double start = processor_milliseconds();
  run();
  return processor_milliseconds() - start;
}

struct Pair {
  int64_t batch, length;
};

struct Ratios {
  double worst = 0, sum_of_logs = 0;
  int count = 0;
  void add(double ratio) {
    worst = std::max(worst, ratio);
    sum_of_logs += std::log(ratio);
    ++count;
  }
  void report_as(const char* bench_case) const {
    report(bench_case, "mean_ratio", std::exp(sum_of_logs / count));
    report(bench_case, "worst_ratio", worst);
  }
};

/// The minimum times of both, measured alternately.
template <class First, class Second>
std::pair<double, double> by_turns(First&& first, Second&& second) {
  double a = 1e30, b = 1e30;
  const double once = milliseconds(first);
  const int rounds = std::clamp(static_cast<int>(200 / once), 20, 1000);
  for (int round = 0; round < rounds; ++round) {
    a = std::min(a, milliseconds(first));
    b = std::min(b, milliseconds(second));
  }
  return {a, b};
}

struct Case {
  const char* name;
  models::GptOptions model;
  std::vector<int64_t> batches, lengths;
};

void measure_training(const Case& c, bool prints_all) {
  const int64_t vocabulary = c.model.vocabulary;
  const models::Gpt model = models::make_gpt(c.model);
  const auto loss = [](models::Gpt m, Tensor tokens, Tensor targets) { return m.loss(tokens, targets); };
  const auto step = [&](Tensor tokens, Tensor targets) { return value_and_grad<0>(loss)(model, tokens, targets); };
  const auto symbolic = jit(step, {.cache = Cache::symbolic_values});
  const auto constant = jit(step, {.limits = {.warn_after = 0}});
  Ratios ratios;
  double max_extra = 0;
  for (const int64_t batch : c.batches)
    for (const int64_t length : c.lengths) {
      const Tensor tokens = randint(0, vocabulary, {batch, length}), targets = randint(0, vocabulary, {batch, length});
      const double first = wall_milliseconds([&] { symbolic(tokens, targets); });
      constant(tokens, targets);
      const auto [a, b] = by_turns([&] { symbolic(tokens, targets); }, [&] { constant(tokens, targets); });
      ratios.add(a / b);
      if (ratios.count > 1) max_extra = std::max(max_extra, first - a);
      if (prints_all)
        std::printf("# %s %d x %d: %.3f ms symbolic, %.3f ms specialised, %.3f; the first step took %.1f ms more\n",
                    c.name, static_cast<int>(batch), static_cast<int>(length), a, b, a / b, first - a);
    }
  ratios.report_as(c.name);
  report(c.name, "compiles", static_cast<double>(cache_misses(symbolic)));
  report(c.name, "new_pair_extra_ms", max_extra);
}

/// Milliseconds of each token of a block's decoding, while its cache grows from one position to `count`.
template <class Step>
std::vector<double> decode(const Step& step, const models::LlamaOptions& o, int64_t count) {
  const auto [cosines, sines] = models::rotary_tables(count + 1, o.width / o.heads, o.rotary_base);
  const int64_t features = o.width / o.heads;
  models::KeyValues past{randn({1, o.key_value_heads, 2, features}), randn({1, o.key_value_heads, 2, features})};
  const Tensor x = randn({1, 1, o.width});
  std::vector<double> times;
  for (int64_t position = 2; position < count; ++position) {
    const Tensor cosine = narrow(cosines, 0, position, 1), sine = narrow(sines, 0, position, 1);
    times.push_back(milliseconds([&] { past = step(x, cosine, sine, past).second; }));
  }
  return times;
}

void measure_decoding() {
  const NoGrad no_grad;
  const models::LlamaOptions options{.layers = 1, .heads = 8, .key_value_heads = 4, .width = 256, .hidden = 688};
  const models::LlamaBlock block = models::make_llama_block(options);
  const auto step = [&block](Tensor x, Tensor cosine, Tensor sine, models::KeyValues past) {
    return block.extend(x, cosine, sine, past);
  };
  const auto symbolic = jit(step, {.cache = Cache::symbolic_values});
  const auto constant = jit(step, {.limits = {.warn_after = 0}});
  constexpr int64_t count = 256;
  const std::vector<double> new_lengths = decode(symbolic, options, count);
  decode(constant, options, count);
  std::vector<double> a(new_lengths.size(), 1e30), b = a;
  for (int round = 0; round < 20; ++round) {
    const std::vector<double> first = decode(symbolic, options, count), second = decode(constant, options, count);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = std::min(a[i], first[i]);
      b[i] = std::min(b[i], second[i]);
    }
  }
  Ratios ratios;
  double extra = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ratios.add(a[i] / b[i]);
    if (i > 0) extra += (new_lengths[i] - a[i]) / static_cast<double>(a.size() - 1);
  }
  ratios.report_as("llama_block_cache");
  report("llama_block_cache", "compiles", static_cast<double>(cache_misses(symbolic)));
  report("llama_block_cache", "new_length_extra_ms", extra);
  report("llama_block_cache", "step_ms", a.back());
}

}  // namespace

}  // namespace fulgurite

int main(int argc, char**) {
  using namespace fulgurite;
  set_num_threads(1);
  const bool prints_all = argc > 1;
  measure_training({"small_gpt_training",
                    {.vocabulary = 11, .layers = 2, .heads = 2, .width = 16, .block = 16},
                    {2, 3, 4, 5, 6},
                    {2, 3, 5, 6, 8, 11, 13, 16}},
                   prints_all);
  measure_training({"gpt_training",
                    {.vocabulary = 65, .layers = 4, .heads = 4, .width = 128, .block = 64},
                    {2, 3, 4, 6, 8},
                    {4, 8, 13, 16, 24, 32, 48, 64}},
                   prints_all);
  measure_decoding();
}
