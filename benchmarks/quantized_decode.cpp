// Tokens a second of a language model of random weights, of the shape of Qwen2-0.5B: f32, bf16, and weights of few
// bits. usage: bench_quantized_decode f32|bf16|int8|int4 [DTYPE of activations] [THREADS] [TOKENS] [PROMPT]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

models::LlamaOptions shape() {
  models::LlamaOptions options;
  options.vocabulary = 151936;
  options.layers = 24;
  options.heads = 14;
  options.key_value_heads = 2;
  options.width = 896;
  options.hidden = 4864;
  options.block = 2048;
  options.query_bias = true;
  options.tied = true;
  return options;
}

// Repeats a block of random numbers in the matrices: drawing all of them takes half a minute.
void fill(const models::Llama& model) {
  const NoGrad no_grad;
  manual_seed(1);
  const Tensor numbers = randn({896 * 64}) * 0.02;
  for (const auto& [name, parameter] : nn::named_parameters(model)) {
    if (parameter.ndim() != 2) {
      fill_(parameter, name.ends_with("bias") ? 0 : 1);
      continue;
    }
    const Tensor flat = parameter.detach().reshape({-1});
    for (int64_t at = 0; at < flat.numel(); at += numbers.numel()) {
      const int64_t count = std::min(numbers.numel(), flat.numel() - at);
      copy_(narrow(flat, 0, at, count), narrow(numbers, 0, 0, count));
    }
  }
}

models::Llama make_model(const std::string& weights, Dtype dtype) {
  models::Llama model = models::make_llama(shape(), {.initialize = false, .dtype = dtype});
  fill(model);
  nn::eval(model);
  return weights == "int8" || weights == "int4" ? hub::quantize(model, hub::weights_from_name(weights)) : model;
}

std::vector<int64_t> prompt_of(int64_t length, int64_t seed) {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < length; ++i) tokens.push_back((i * 7919 + seed * 104729) % 151936);
  return tokens;
}

void print(const std::string& weights, Dtype dtype, const char* metric, int64_t tokens, double wall, double cpu) {
  std::printf(
      "{\"peer\": \"fulgurite\", \"weights\": \"%s\", \"dtype\": \"%s\", \"threads\": %d, \"metric\": \"%s\", "
      "\"tokens_per_second\": %.2f, \"tokens_per_cpu_second\": %.2f}\n",
      weights.c_str(), std::string(name(dtype)).c_str(), num_threads(), metric, static_cast<double>(tokens) / wall,
      static_cast<double>(tokens) / cpu);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string weights = count > 1 ? arguments[1] : "int8";
  const Dtype dtype = dtype_from_name(count > 2 ? arguments[2] : weights == "bf16" ? "bf16" : "f32");
  if (count > 3) set_num_threads(std::atoi(arguments[3]));
  const int64_t tokens = count > 4 ? std::atoi(arguments[4]) : 32, length = count > 5 ? std::atoi(arguments[5]) : 512;
  TokenGenerator generator(make_model(weights, dtype));
  std::vector<int64_t> prompt = prompt_of(length, 1);
  generator.generate(prompt, {.max_tokens = 3});  // compiles
  prompt = prompt_of(length, 2);
  const double wall = wall_seconds(), cpu = cpu_seconds();
  std::vector<int64_t> made = generator.generate(prompt, {.max_tokens = 1});
  print(weights, dtype, "prompt", length, wall_seconds() - wall, cpu_seconds() - cpu);
  double first_wall = 0, first_cpu = 0;
  int64_t seen = 0;
  generator.generate(prompt, {.max_tokens = tokens + 2}, [&](const GeneratedToken&) {
    if (++seen == 2) first_wall = wall_seconds(), first_cpu = cpu_seconds();
    return true;
  });
  print(weights, dtype, "decode", seen - 2, wall_seconds() - first_wall, cpu_seconds() - first_cpu);
  return 0;
}
