// Random cut points of a GPT's training step: the slice between them runs alone, as claimed, reclaimed by the default
// list, and on eager, and must equal the complete run on the same executors; on eager also the default run.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include <fulgurite/fusion_executor.h>

#include "fuzz/training_step.h"
#include "ir/analysis/trace_values.h"
#include "pipeline/debug/compare_tensors.h"
#include "pipeline/debug/slice.h"
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
    else if (is("--small"))
      options.step.sizes = {.vocabulary = 65, .layers = 2, .heads = 2, .width = 32, .block = 16, .bias = true};
    else
      std::exit(
          (std::fprintf(stderr, "usage: random_slices [--pairs N] [--batch N] [--seed N] [--bf16] [--small]\n"), 2));
  }
  options.step.executors = default_executors();
  return options;
}

/// Copies whose dimensions have the memory order of the originals': GEMMs of other layouts add in another order.
std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    std::vector<int64_t> order(static_cast<size_t>(tensor.ndim())), back(order.size());
    std::iota(order.begin(), order.end(), 0);
    const auto strides = tensor.impl()->strides;
    std::ranges::stable_sort(
        order, [&](int64_t a, int64_t b) { return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)]; });
    for (size_t d = 0; d < order.size(); ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
    out.push_back(permute(permute(tensor, order).clone(), back));
  }
  return out;
}

/// |a - b| / |b|, of all elements together.
double relative_distance(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(Dtype::f64), y = b.to(Dtype::f64), apart = x - y;
  const double squares = sum(apart * apart).item<double>();
  return squares == 0 ? 0 : std::sqrt(squares / sum(y * y).item<double>());
}

bool is_same(const Tensor& got, const Tensor& wanted) {
  const Tensor a = got.contiguous(), b = wanted.contiguous();
  return std::memcmp(a.impl()->data(), b.impl()->data(), static_cast<size_t>(b.numel().hint() * size_of(b.dtype()))) ==
         0;
}

/// Runs the ops of a slice in f64, without the roundings of their own dtypes.
class Exact {
 public:
  Exact(const Trace& part, const std::vector<Tensor>& given) : lines_(without_claims(part)) {
    for (BoundSymbol& bound : lines_.bound_symbols.change()) widen(bound);
    for (const Tensor& tensor : given)
      given_.push_back(is_floating(tensor.dtype()) ? tensor.to(Dtype::f64) : tensor.clone());
  }
  const Tensor& result(size_t k) {
    if (results_.empty()) results_ = evaluate(lines_, given_);
    return results_[k];
  }

 private:
  static void widen(Value& value) {
    if (value.kind() == Value::Kind::dtype && is_floating(value.dtype())) value = Value(Dtype::f64);
  }
  static void widen(BoundSymbol& bound) {
    for (Value& arg : bound.args.change()) widen(arg);
    for (auto& [key, value] : bound.kwargs.change()) widen(value);
    for (BoundSymbol& inside : bound.subsymbols.change()) widen(inside);
  }

  Trace lines_;
  std::vector<Tensor> given_, results_;
};

/// Slices of a step, each on its own.
class Slices {
 public:
  Slices(const Trace& step, const std::vector<Tensor>& inputs, const Options& options)
      : step_(step), inputs_(inputs), is_bf16_(options.step.is_bf16) {
    std::mt19937 random(static_cast<uint32_t>(options.seed) + 1);
    const auto lines = static_cast<uint32_t>(step.bound_symbols.size());
    for (int64_t pair = 0; pair < options.pairs; ++pair) {
      const int a = static_cast<int>(random() % lines), b = static_cast<int>(random() % lines);
      cuts_.emplace_back(std::min(a, b), std::max(a, b) + 1);
    }
  }

  /// Compares the complete run and each slice on the same executors; against the complete run, or another run of a
  /// slice, rounding may differ if a cut divides a fusion. `is_exact`: nowhere.
  void check(const char* on, const std::vector<std::string>& executors, const char* parton,
             const std::vector<std::string>& partexecutors, bool is_exact) {
    const std::map<std::string, Tensor> whole = examine::run_lines(step_, inputs_, executors);
    results_ = same_ = rounded_ = conditioned_ = differ_ = inside_ = 0;
    farthest_ = 0;
    for (const auto& cut : cuts_) {
      const auto first = cut.first, last = cut.second;
      const Trace part = examine::slice(step_, first, last);
      std::vector<Tensor> given, wanted;
      // Reclaimed, the complete trace may have values that cross the cut inside a fusion.
      const auto take = [&](const Value& value, std::vector<Tensor>& tensors) {
        const auto found = whole.find(value.tensor().name);
        if (found != whole.end()) tensors.push_back(found->second);
        return found != whole.end();
      };
      const std::vector<Value> made = returned_values(part);
      if (!std::ranges::all_of(part.args, [&](const Value& arg) { return take(arg, given); }) ||
          !std::ranges::all_of(made, [&](const Value& value) { return take(value, wanted); })) {
        ++inside_;
        continue;
      }
      Exact exact(part, given);
      std::vector<Tensor> eager;  // what rounding does to this piece
      const auto error_of_eager = [&](size_t k) {
        if (eager.empty()) eager = examine::run_slice(step_, first, last, copies(given), {"eager"});
        return relative_distance(eager[k], exact.result(k));
      };
      const std::vector<Tensor> got = examine::run_slice(step_, first, last, copies(given), partexecutors);
      for (size_t k = 0; k < got.size(); ++k) {
        const std::string problem = problem_of(got[k], wanted[k], is_exact, exact, k, error_of_eager);
        if (problem.empty()) continue;
        ++differ_;
        std::printf("lines [%d, %d) on %s, the whole on %s: %s, made by %s: %s\n", first, last, parton, on,
                    made[k].tensor().name.c_str(), maker_of(made[k]).c_str(), problem.c_str());
      }
    }
    std::printf(
        "pieces on %s, the whole step on %s: %lld results, %lld equal to the bit, %lld at most %.2g of their size "
        "apart, %lld of what nearly cancels as near to f64 as eager, %lld differ",
        parton, on, results_, same_, rounded_, farthest_, conditioned_, differ_);
    if (inside_ > 0) std::printf("; %lld cuts go through a fusion of the whole run, which has no such values", inside_);
    std::printf("\n");
    std::fflush(stdout);
    // Most slices must have something to compare.
    if (10 * inside_ > static_cast<long long>(cuts_.size())) ++differ_;
    all_differ_ += differ_;
  }
  long long differ() const { return all_differ_; }

 private:
  std::string maker_of(const Value& value) const {
    std::string name;
    for (const BoundSymbol& bound : step_.bound_symbols.read())
      for_each_output(bound, [&](const Value& made) {
        if (made == value) name = bound.name();
      });
    return name;
  }
  // The problem with a result, or "": the distance of tensors relative to their magnitude. If values nearly cancel,
  // both must be as near to f64 as eager is, within a factor of 4 and two units in the last place.
  template <class Error>
  std::string problem_of(const Tensor& got, const Tensor& wanted, bool is_exact, Exact& exact, size_t k,
                         const Error& error_of_eager) {
    ++results_;
    if (is_same(got, wanted)) {
      ++same_;
      return {};
    }
    char text[200] = "";
    if (is_exact || !is_floating(wanted.dtype())) {
      const auto found = find_difference(got, wanted, AllowedDifference{});
      if (found)
        std::snprintf(text, sizeof text, "element %zu is %.9g, and %.9g in the whole run", found->index, found->actual,
                      found->expected);
      return text;
    }
    const double distance = relative_distance(got, wanted);
    if (distance <= (is_bf16_ ? 1e-2 : 1e-4)) {
      ++rounded_;
      farthest_ = std::max(farthest_, distance);
      return {};
    }
    const double unit = wanted.dtype() == Dtype::bf16 ? 0x1p-8 : 0x1p-23;
    const double allowed = 4 * error_of_eager(k) + 2 * unit;
    const double own = relative_distance(got, exact.result(k)), of_whole = relative_distance(wanted, exact.result(k));
    if (own <= allowed && of_whole <= allowed) {
      ++conditioned_;
      return {};
    }
    std::snprintf(text, sizeof text,
                  "%.2g of its size from the whole run; %.2g from f64, the whole run %.2g, eager %.2g", distance, own,
                  of_whole, error_of_eager(k));
    return text;
  }

  const Trace& step_;
  const std::vector<Tensor>& inputs_;
  const bool is_bf16_;
  std::vector<std::pair<int, int>> cuts_;
  long long results_ = 0, same_ = 0, rounded_ = 0, conditioned_ = 0, differ_ = 0, inside_ = 0, all_differ_ = 0;
  double farthest_ = 0;
};

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
  const NoGrad no_grad;
  const std::vector<std::string> all = default_executors(), eager = {"eager"};
  Slices slices(step, inputs, options);
  slices.check("what claimed it", {}, "what claimed it", {}, true);
  slices.check("eager", eager, "eager", eager, true);
  slices.check("the default list", all, "the default list", all, false);
  slices.check("the default list", all, "eager", eager, false);
  std::printf("%lld pairs of cut points of %zu lines, %lld differ\n", static_cast<long long>(options.pairs),
              step.bound_symbols.size(), slices.differ());
  return slices.differ() == 0 ? 0 : 1;
}
