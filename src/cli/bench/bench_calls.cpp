// The overhead of calls: small work, many times.
#include <algorithm>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "cli/bench/bench.h"

namespace fulgurite::cli {

namespace {

/// Microseconds of CPU time a call: the best and the median of seven times a thousand.
void measure(const Report& report, const std::string& prefix, const std::function<void()>& call) {
  for (int i = 0; i < 200; ++i) call();
  std::vector<double> micros;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const double start = cpu_seconds();
    for (int i = 0; i < 1000; ++i) call();
    micros.push_back((cpu_seconds() - start) * 1e3);
  }
  report(prefix + "us_best", *std::min_element(micros.begin(), micros.end()));
  report(prefix + "us_median", median(micros));
}

void pointwise(const Report& report) {
  const Tensor x = randn({16}), w = randn({16}), b = randn({16});
  const NoGrad no_grad;
  const auto f = jit([](Tensor input, Tensor scale, Tensor shift) { return tanh(input * scale + shift); });
  measure(report, "", [&] { f(x, w, b); });
  measure(report, "eager_", [&] {
    const Tensor scaled = x * w;
    const Tensor shifted = scaled + b;
    const Tensor result = tanh(shifted);
  });
}

struct SmallMlp {
  nn::Linear first{64, 64}, second{64, 16};
  Tensor operator()(const Tensor& x) const { return second(tanh(first(x))); }
};

void mlp(const Report& report) {
  manual_seed(0);
  const SmallMlp model;
  const Tensor x = randn({1, 64}), target = randn({1, 16});
  const NoGrad no_grad;
  const auto loss = [](SmallMlp m, Tensor input, Tensor wanted) { return mean(square(m(input) - wanted)); };
  const auto f = jit(value_and_grad<0>(loss));
  measure(report, "", [&] { f(model, x, target); });
}

Tensor next_token(models::Gpt model, models::GptCache cache, Tensor token, Tensor position) {
  const Tensor scores = model.step(token, position, cache);
  return argmax(scores, -1, true);
}

}  // namespace

bool bench_calls(const Report& report, double) {
  if (report.bench_case == "ov_pointwise") pointwise(report);
  else if (report.bench_case == "ov_mlp") mlp(report);
  else return false;
  return true;
}

bool bench_decode(const Report& report, double seconds) {
  if (report.bench_case != "decode") return false;
  constexpr int64_t tokens = 64;
  manual_seed(0);
  // The cache has room for the 128 tokens.
  models::Gpt model = models::make_gpt(
      {.vocabulary = 50257, .layers = 12, .heads = 12, .width = 768, .block = 128, .bias = true, .tanh_gelu = true});
  nn::eval(model);
  if (report.is_bf16()) nn::to(model, Dtype::bf16);
  const models::GptCache cache = models::make_cache(model);
  const NoGrad no_grad;
  const auto step = jit(next_token);
  std::vector<Tensor> positions;
  for (int64_t i = 0; i < tokens; ++i) positions.push_back(tensor(std::vector<int64_t>{i}));
  const auto decode = [&] {
    Tensor token = zeros({1}, {.dtype = Dtype::i64});
    for (const Tensor& position : positions) token = step(model, cache, token, position);
    return token;
  };
  const double start = wall_seconds();
  decode();
  report("first_s", wall_seconds() - start);
  const Meter meter([&] { decode(); }, seconds, 3);
  meter.report(report);
  report("tok_s_best", static_cast<double>(tokens) / *std::min_element(meter.wall.begin(), meter.wall.end()));
  report("tok_s_cpu", static_cast<double>(tokens) / *std::min_element(meter.cpu.begin(), meter.cpu.end()));
  return true;
}

}  // namespace fulgurite::cli
