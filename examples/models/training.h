#pragma once
// The part that the models of this folder share: a program trains its model and prints the losses and a step's time.
//   example_model_NAME [FILE] [--steps 20]
// FILE, written by compare.py, holds the batch ("batch.x" …) and the first weights ("model.…"); without it the program
// makes up both.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace example {

namespace fg = fulgurite;
namespace nn = fulgurite::nn;
using Batch = std::map<std::string, fg::Tensor>;

struct Arguments {
  std::string file;
  int steps = 20;
};
inline Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--steps" && i + 1 < argc) arguments.steps = std::atoi(argv[++i]);
    else arguments.file = argv[i];
  }
  return arguments;
}

/// Takes the file's weights and batch, if there is a file; keeps `batch` otherwise.
template <class Model>
void load(const std::string& file, const Model& model, Batch& batch) {
  if (file.empty()) return;
  std::map<std::string, fg::Tensor> weights;
  for (const auto& [name, tensor] : fg::load_safetensors(file))
    if (name.starts_with("batch.")) batch[name.substr(6)] = tensor.clone();
    else if (name.starts_with("model.")) weights[name.substr(6)] = tensor;
  nn::load_state_dict(model, weights);
}

/// Trains: `step(batch)` makes one step and returns its loss. Prints the losses and the shortest step. Returns the
/// status of the program: 0 if the last loss is a number.
template <class Model>
int train(int argc, char** argv, const Model& model, Batch batch, const std::function<fg::Tensor(Batch&)>& step) {
  using Clock = std::chrono::steady_clock;
  const Arguments arguments = parse(argc, argv);
  load(arguments.file, model, batch);
  std::vector<double> losses;
  double shortest = 1e30;
  for (int i = 0; i < arguments.steps; ++i) {
    const auto start = Clock::now();
    losses.push_back(step(batch).item<double>());
    if (i > 2) shortest = std::min(shortest, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::cout.precision(9);
  std::cout << "{\"losses\": [";
  for (size_t i = 0; i < losses.size(); ++i) std::cout << (i > 0 ? ", " : "") << losses[i];
  std::cout << "], \"step_ms\": " << shortest << "}\n";
  return !losses.empty() && std::isfinite(losses.back()) ? 0 : 1;
}

/// One step of an optimizer on a loss.
inline fg::Tensor descend(const fg::Tensor& loss, fg::optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
  return loss;
}

}  // namespace example
