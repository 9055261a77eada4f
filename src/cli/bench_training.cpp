#include <algorithm>
#include <cmath>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "cli/bench.h"

namespace fulgurite::cli {

namespace {

// The peers' seeded weights cannot be drawn here bit for bit, so the initial values are our own with the same deviations: the time is that
// of the same work, and the first loss is near ln(vocabulary) as theirs is.
void train(const Report& report, const models::GptOptions& options, int64_t batch, int64_t length, optim::AdamWOptions adamw,
           double seconds) {
  manual_seed(0);
  models::Gpt model = models::make_gpt(options);
  const double base = resident_mb("VmRSS");
  optim::AdamW optimizer(nn::parameters(model), adamw);
  auto step = jit([&](Tensor tokens, Tensor targets) {
    const auto loss_of = [](models::Gpt m, Tensor x, Tensor y) { return m.loss(x, y); };
    const auto differentiated = [&] {
      const AutocastScope scope(report.autocast());
      return value_and_grad<0>(loss_of)(model, tokens, targets);
    };
    const auto [loss, gradients] = differentiated();
    std::vector<Tensor> flat;
    for (const auto& [name, gradient] : nn::model_detail::named_tensors(gradients))
      if (gradient.defined()) flat.push_back(gradient);
    optimizer.step(nn::parameters(model), flat);
    return loss;
  });
  // A skewed token stream, so that the loss falls while training.
  const int64_t batches = 16, count = batch * length * batches + 1;
  const Tensor uniform = rand({count});
  const std::vector<float> draws = uniform.to_vector<float>();
  std::vector<int64_t> stream;
  for (const float u : draws) stream.push_back(static_cast<int64_t>(std::pow(static_cast<double>(u), 3) * static_cast<double>(options.vocabulary)));
  const auto run = [&](int64_t i) {
    const NoGrad no_grad;
    const auto start = stream.begin() + static_cast<std::ptrdiff_t>((i % batches) * batch * length);
    const Tensor x = tensor(std::vector<int64_t>(start, start + batch * length));
    const Tensor y = tensor(std::vector<int64_t>(start + 1, start + 1 + batch * length));
    return step(x.reshape({batch, length}), y.reshape({batch, length})).item<double>();
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
  report("tok_s_best", static_cast<double>(batch * length) / *std::min_element(wall.begin(), wall.end()));
  report("tok_s_cpu", static_cast<double>(batch * length) / *std::min_element(cpu.begin(), cpu.end()));
  report("peak_rss_mb", resident_mb("VmHWM") - base);
}

}  // namespace

bool bench_training(const Report& report, double seconds) {
  if (report.bench_case == "gpt6l") {
    const models::GptOptions options{.vocabulary = 65, .layers = 6, .heads = 6, .width = 384, .block = 256, .bias = true};
    train(report, options, 8, 256, {.lr = 1e-3, .weight_decay = 0.1}, seconds);
  } else if (report.bench_case == "gpt124m") {
    const models::GptOptions options{.vocabulary = 50257, .layers = 12, .heads = 12, .width = 768, .block = 1024, .bias = true};
    train(report, options, 4, 64, {.lr = 1e-4, .weight_decay = 0}, seconds);
  } else {
    return false;
  }
  return true;
}

}  // namespace fulgurite::cli
