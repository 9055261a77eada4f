#include <algorithm>
#include <cmath>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

#include "cli/bench/bench.h"

namespace fulgurite::cli {

namespace {

// A skewed token stream, so that the loss falls while training.
std::vector<int64_t> drawn_tokens(int64_t count, int64_t vocabulary) {
  std::vector<int64_t> tokens;
  for (const float u : rand({count}).to_vector<float>())
    tokens.push_back(static_cast<int64_t>(std::pow(static_cast<double>(u), 3) * static_cast<double>(vocabulary)));
  return tokens;
}

/// Loads the model's values from a file of safetensors, and returns its "tokens", of which there must be `count`.
std::vector<int64_t> load_inputs(const std::string& path, const models::Gpt& model, int64_t count, int64_t vocabulary) {
  std::map<std::string, Tensor> inputs = load_safetensors(path);
  const auto found = inputs.find("tokens");
  if (found == inputs.end()) throw UserError("bench: " + path + " has no tensor named tokens");
  const Tensor tokens = found->second;
  if (tokens.dtype() != Dtype::i64 || tokens.ndim() != 1 || !(tokens.size(0) == count))
    throw UserError("bench: tokens of " + path + " must be i64 [" + std::to_string(count) + "]");
  inputs.erase(found);
  nn::load_state_dict(model, inputs);
  std::vector<int64_t> stream = tokens.to_vector<int64_t>();
  for (const int64_t token : stream)
    if (token < 0 || token >= vocabulary)
      throw UserError("bench: " + path + " has the token " + std::to_string(token) + ", the vocabulary " +
                      std::to_string(vocabulary));
  return stream;
}

// The peers' seeded weights cannot be drawn here bit for bit. Without a file of them the initial values are our own
// with the same deviations: the work is the same, and the first loss is near ln(vocabulary), as theirs is.
void train(const Report& report, const models::GptOptions& options, int64_t batch, int64_t length,
           optim::AdamWOptions adamw, double seconds, const std::string& inputs) {
  manual_seed(0);
  models::Gpt model = models::make_gpt(options);
  const int64_t batches = 16, count = batch * length * batches + 1;
  const std::vector<int64_t> stream =
      inputs.empty() ? drawn_tokens(count, options.vocabulary) : load_inputs(inputs, model, count, options.vocabulary);
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
  for (const double end = wall_seconds() + seconds; wall.size() < 4 || (wall_seconds() < end && wall.size() < 400);
       ++i) {
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

bool bench_training(const Report& report, double seconds, const std::string& inputs) {
  if (report.bench_case == "gpt6l") {
    const models::GptOptions options{
        .vocabulary = 65, .layers = 6, .heads = 6, .width = 384, .block = 256, .bias = true, .tanh_gelu = true};
    train(report, options, 8, 256, {.lr = 1e-3, .weight_decay = 0.1}, seconds, inputs);
  } else if (report.bench_case == "gpt124m") {
    const models::GptOptions options{
        .vocabulary = 50257, .layers = 12, .heads = 12, .width = 768, .block = 1024, .bias = true, .tanh_gelu = true};
    train(report, options, 4, 64, {.lr = 1e-4, .weight_decay = 0}, seconds, inputs);
  } else {
    return false;
  }
  return true;
}

}  // namespace fulgurite::cli
