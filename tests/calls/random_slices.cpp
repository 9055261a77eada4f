// Random pairs of cut points of a GPT's training step: the piece between them runs alone, as it was claimed, claimed anew by the default list,
// and on eager, and must give what the whole run had there.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "calls/training_step.h"
#include "ir/trace_values.h"
#include "pipeline/compare_tensors.h"
#include "tensor/tensor_impl.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

struct Options {
  int64_t pairs = 200, seed = 0;
  StepOptions step;
};

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const auto number = [&] { return i + 1 < count ? std::atoll(arguments[++i]) : 0; };
    const auto is = [&](const char* name) { return std::strcmp(arguments[i], name) == 0; };
    if (is("--pairs")) options.pairs = number();
    else if (is("--batch")) options.step.batch = number();
    else if (is("--seed")) options.seed = number();
    else if (is("--bf16")) options.step.is_bf16 = true;
    else if (is("--small")) options.step.sizes = {.vocabulary = 65, .layers = 2, .heads = 2, .width = 32, .block = 16, .bias = true};
    else std::exit((std::fprintf(stderr, "usage: random_slices [--pairs N] [--batch N] [--seed N] [--bf16] [--small]\n"), 2));
  }
  options.step.executors = default_executors();
  return options;
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.clone());
  return out;
}

struct Way {
  const char* name;
  std::vector<std::string> executors;
};

/// |a - b| / |b|, of all elements together.
double relative_distance(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(Dtype::f32), y = b.to(Dtype::f32), apart = x - y;
  const double squares = sum(apart * apart).item<double>();
  return squares == 0 ? 0 : std::sqrt(squares / sum(y * y).item<double>());
}

/// Each element moved by about what rounding moves it.
std::vector<Tensor> rounded_otherwise(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    if (!is_floating(tensor.dtype())) {
      out.push_back(tensor.clone());
      continue;
    }
    const double unit = tensor.dtype() == Dtype::bf16 ? 0x1p-8 : 0x1p-22;
    const Tensor factor = (rand(tensor.shape()) - 0.5) * (2 * unit) + 1.0;
    out.push_back((tensor.to(Dtype::f32) * factor).to(tensor.dtype()));
  }
  return out;
}

/// What is wrong with a result, or "". As claimed the same kernels ran; others round at other places, and a piece is long, so what counts is how
/// far the tensors are apart beside how large they are.
std::string problem(const Tensor& got, const Tensor& wanted, bool is_as_claimed, bool is_bf16, double& farthest) {
  char text[160] = "";
  if (is_as_claimed || !is_floating(wanted.dtype())) {
    const Tensor a = got.contiguous(), b = wanted.contiguous();
    const auto bytes = static_cast<size_t>(b.numel().hint() * size_of(b.dtype()));
    if (std::memcmp(a.impl()->data(), b.impl()->data(), bytes) == 0) return text;
    if (const auto found = find_difference(got, wanted, AllowedDifference{}))
      std::snprintf(text, sizeof text, "element %zu is %.9g, and %.9g in the whole run", found->index, found->actual, found->expected);
    return text;
  }
  const double distance = relative_distance(got, wanted);
  farthest = std::max(farthest, distance);
  if (!(distance <= (is_bf16 ? 3e-2 : 1e-4))) std::snprintf(text, sizeof text, "%.2g of its size from the whole run", distance);
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  manual_seed(static_cast<uint64_t>(options.seed));
  TrainingStep training(options.step);
  training.run();
  const Trace step = last_traces(training.function()).back();
  // Small and not negative, because some are second moments.
  std::vector<Tensor> inputs = examine::make_inputs(step, {}, static_cast<uint64_t>(options.seed));
  for (Tensor& input : inputs)
    if (input.dtype() == Dtype::f32) input = input * input * 0.02;
  const std::map<std::string, Tensor> values = examine::run_lines(step, inputs);
  const int lines = static_cast<int>(step.bound_symbols.size());
  std::mt19937 random(static_cast<uint32_t>(options.seed) + 1);
  const Way ways[] = {{"as claimed", {}}, {"on the default list", default_executors()}, {"on eager", {"eager"}}};
  int failures = 0;
  int64_t results = 0, cancelled = 0;
  double farthest = 0;
  const NoGrad no_grad;
  for (int64_t pair = 0; pair < options.pairs; ++pair) {
    const int a = static_cast<int>(random() % static_cast<uint32_t>(lines)), b = static_cast<int>(random() % static_cast<uint32_t>(lines));
    const int first = std::min(a, b), last = std::max(a, b) + 1;
    const Trace piece = examine::slice(step, first, last);
    std::vector<Tensor> given;
    for (const Value& arg : piece.args) given.push_back(values.at(arg.tensor().name));
    const std::vector<Value> made = returned_values(piece);
    for (const Way& way : ways) {
      const std::vector<Tensor> got = examine::run_slice(step, first, last, copies(given), way.executors);
      std::vector<Tensor> exact, moved;  // on eager, and from inputs that are rounded otherwise
      for (size_t k = 0; k < got.size(); ++k, ++results) {
        const Tensor& wanted = values.at(made[k].tensor().name);
        const std::string found = problem(got[k], wanted, way.executors.empty(), options.step.is_bf16, farthest);
        if (found.empty()) continue;
        // Sums of what nearly cancels are as far apart as rounding the inputs otherwise moves them.
        if (!way.executors.empty() && is_floating(wanted.dtype())) {
          if (exact.empty()) {
            exact = examine::run_slice(step, first, last, copies(given), {"eager"});
            moved = examine::run_slice(step, first, last, rounded_otherwise(given), {"eager"});
          }
          if (relative_distance(got[k], wanted) <= 30 * relative_distance(moved[k], exact[k])) {
            ++cancelled;
            continue;
          }
        }
        ++failures;
        std::printf("lines [%d, %d) %s: %s: %s\n", first, last, way.name, made[k].tensor().name.c_str(), found.c_str());
      }
    }
  }
  std::printf("%lld pairs of cut points of %d lines, %lld results compared, at most %.2g of their size apart (%lld of what nearly cancels), %d "
              "differ\n",
              static_cast<long long>(options.pairs), lines, static_cast<long long>(results), farthest, static_cast<long long>(cancelled), failures);
  return failures == 0 ? 0 : 1;
}
