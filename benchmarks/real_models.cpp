// Work with models of Hugging Face folders: vectors of texts, steps of fine-tuning, tokens of a text, loading, and
// products of few rows. usage: bench_real_models embed FOLDER THREADS | train FOLDER f32|bf16 RANK THREADS |
// tokenize FOLDER TEXT | load FOLDER | rows f32|bf16 THREADS
// RANK 0 trains the whole model. Prints a JSON line: the best wall and CPU seconds of one run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

using namespace fulgurite;

namespace {

struct Seconds {
  double wall = 0, cpu = 0;
};

Seconds now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
          static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

Seconds best_of(int runs, const std::function<void()>& body) {
  Seconds best{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  for (int i = 0; i < runs; ++i) {
    const Seconds begin = now();
    body();
    const Seconds end = now();
    best = {std::min(best.wall, end.wall - begin.wall), std::min(best.cpu, end.cpu - begin.cpu)};
  }
  return best;
}

void print(const std::string& work, Seconds seconds) {
  std::printf("{\"peer\": \"fulgurite\", \"work\": \"%s\", \"wall\": %.6g, \"cpu\": %.6g}\n", work.c_str(),
              seconds.wall, seconds.cpu);
}

Tensor tokens_of(int64_t rows, int64_t length) {
  return remainder(arange(rows * length) * 7919, 20000).reshape({rows, length});
}

void embed(const std::string& folder, int threads) {
  set_num_threads(threads);
  const auto model = hub::load<models::Bert>(folder);
  const auto features =
      jit([](models::Bert m, Tensor tokens, Tensor mask) { return static_cast<Tensor>(m(tokens, mask)); });
  const Tensor tokens = tokens_of(32, 128), mask = ones({32, 128}, {.dtype = Dtype::i64});
  const NoGrad no_grad;
  features(model, tokens, mask);
  print("embed", best_of(5, [&] { features(model, tokens, mask); }));
}

void train(const std::string& folder, const std::string& dtype, int64_t rank, int threads) {
  set_num_threads(threads);
  hub::CausalLM model = hub::load_causal_lm(folder, {.dtype = Dtype::f32});
  const std::vector<std::string> targets = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                            "gate_proj", "up_proj", "down_proj"};
  if (rank > 0) model = hub::with_lora(model, {.rank = rank, .alpha = 32, .targets = targets});
  nn::train(model);
  optim::AdamW optimizer(nn::parameters(model), {.lr = 1e-4});
  const std::optional<Dtype> products = dtype == "bf16" ? std::optional(Dtype::bf16) : std::nullopt;
  const auto step = jit([&](Tensor tokens, Tensor labels) {
    const auto differentiated = [&] {
      const AutocastScope scope(products);
      const Tensor loss = model.loss(tokens, labels);
      return std::pair(loss, autograd::grad({loss}, nn::parameters(model)));
    };
    const auto [loss, gradients] = differentiated();
    optimizer.step(nn::parameters(model), gradients);
    return loss;
  });
  const Tensor tokens = tokens_of(1, 512), labels = tokens_of(1, 512);
  for (int i = 0; i < 2; ++i) step(tokens, labels);
  print("train", best_of(5, [&] { step(tokens, labels).item<float>(); }));
}

void tokenize(const std::string& folder, const std::string& path) {
  const auto tokenizer = Tokenizer::load(folder);
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  print("tokenize", best_of(5, [&] {
          for (const std::string& line : lines) tokenizer.encode(line);
        }));
}

// The sum of a small tensor of the model shows that it can be used.
void load(const std::string& folder) {
  print("load", best_of(5, [&] {
          const auto model = hub::load<models::Llama>(folder);
          sum(model.model.norm.weight).item<float>();
        }));
}

// Matrices of 150 MB in turns, so that each is read from memory.
void rows(const std::string& dtype, int threads) {
  set_num_threads(threads);
  const TensorOptions options{.dtype = dtype_from_name(dtype)};
  const NoGrad no_grad;
  std::vector<Tensor> weights;
  for (int i = 0; i < 16; ++i) weights.push_back(full({4864, 896}, 0.5, options));
  for (const int64_t count : {1, 2, 4, 8, 16}) {
    const Tensor x = ones({count, 896}, options);
    const auto all = [&] {
      for (const Tensor& weight : weights) nn::linear(x, weight);
    };
    all();
    print(std::to_string(count) + " rows", best_of(20, all));
  }
}

int usage() {
  std::fputs(
      "usage: bench_real_models embed FOLDER THREADS | train FOLDER f32|bf16 RANK THREADS | tokenize FOLDER TEXT | "
      "load FOLDER | rows f32|bf16 THREADS\n",
      stderr);
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const std::string work = words.empty() ? "" : words[0];
  if (work == "embed" && words.size() == 3) embed(words[1], std::stoi(words[2]));
  else if (work == "train" && words.size() == 5) train(words[1], words[2], std::stoi(words[3]), std::stoi(words[4]));
  else if (work == "tokenize" && words.size() == 3) tokenize(words[1], words[2]);
  else if (work == "load" && words.size() == 2) load(words[1]);
  else if (work == "rows" && words.size() == 3) rows(words[1], std::stoi(words[2]));
  else return usage();
  return 0;
}
