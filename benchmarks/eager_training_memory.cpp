// The memory of eager training of a GPT: forward, backward() and AdamW, nothing traced. Resident memory above that of
// the idle process.
// usage: bench_eager_training_memory [gpt6l|small] [STEPS]     (benchmarks/eager_training_memory.py compares with
// PyTorch)
//   gpt6l   6 layers, 6 heads, width 384, 8 sequences of 256 bytes
//   small   the same shape at a tenth of the width and of the length: for many steps
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <fulgurite/fulgurite.h>
#include <fulgurite/models/gpt.h>

namespace fulgurite {

namespace {

double resident_mb(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return std::strtod(line.c_str() + key.size() + 1, nullptr) / 1024;
  return 0;
}

struct Setting {
  models::GptOptions model;
  int64_t batch, length;
};

void train(const Setting& setting, int64_t steps) {
  const double idle = resident_mb("VmRSS");
  const auto report = [&](const char* metric, double value) {
    std::printf("{\"peer\": \"fulgurite\", \"metric\": \"%s\", \"value\": %.6g}\n", metric, value);
    std::fflush(stdout);
  };
  manual_seed(0);
  models::Gpt model = models::make_gpt(setting.model);
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-3, .weight_decay = 0.1});
  const Tensor uniform = rand({setting.batch * setting.length + 1});
  const Tensor skewed = pow(uniform, 3) * static_cast<double>(setting.model.vocabulary);
  const Tensor stream = skewed.to(Dtype::i64);
  const Tensor tokens = stream(Slice(0, setting.batch * setting.length)).reshape({setting.batch, setting.length});
  const Tensor targets = stream(Slice(1, setting.batch * setting.length + 1)).reshape({setting.batch, setting.length});
  double after_a_tenth = 0, loss_value = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) {
    const Tensor loss = model.loss(tokens, targets);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    loss_value = loss.item<double>();
    if (i == steps / 10) after_a_tenth = resident_mb("VmRSS");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report("peak_mb", resident_mb("VmHWM") - idle);
  report("growth_mb", resident_mb("VmRSS") - after_a_tenth);
  report("ms_per_step", seconds * 1e3 / static_cast<double>(steps));
  report("loss", loss_value);
}

}  // namespace

}  // namespace fulgurite

int main(int count, char** arguments) {
  using namespace fulgurite;
  const std::string name = count > 1 ? arguments[1] : "gpt6l";
  const int64_t steps = count > 2 ? std::atoll(arguments[2]) : 20;
  if (name == "gpt6l") {
    train({{.vocabulary = 65, .layers = 6, .heads = 6, .width = 384, .block = 256, .bias = true}, 8, 256}, steps);
  } else if (name == "small") {
    train({{.vocabulary = 65, .layers = 6, .heads = 6, .width = 36, .block = 24, .bias = true}, 8, 24}, steps);
  } else {
    std::fprintf(stderr, "usage: bench_eager_training_memory [gpt6l|small] [STEPS]\n");
    return 2;
  }
}
