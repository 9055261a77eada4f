// Changes the backward traces of all operator cases, one small mistake at a time, and checks that the gradient tests
// notice. usage: mutate_gradients [--only OP] [--equivalents] Ends with `N mutants, N killed, N equivalent, N
// survived`; exit status 1 when any survived.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "ir/analysis/trace_values.h"
#include "mutants/mutate.h"
#include "ops/generated/symbols.h"
#include "support/cases/case_traces.h"
#include "support/gradcheck.h"
#include "tracing/evaluate.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr int samples = 30, forward_samples = 100;

/// The check of the gradient tests: returns true if these gradients of a case are right.
class Judge {
 public:
  Judge(const OperatorCase& c, const CaseTraces& traces) : traces_(traces) {
    if (!c.known_gradients.empty()) expected_ = c.known_gradients;
    else
      expected_ = central_differences([&](const std::vector<Tensor>& inputs) { return c.run(inputs); }, traces.inputs);
  }

  bool accepts(const Trace& backward) const {
    try {
      check_trace(backward);
      const std::vector<Tensor> gradients = traces_.run_backward(backward, traces_.saved);
      size_t which = 0;
      for (size_t i = 0; i < gradients.size(); ++i) {
        if (!traces_.inputs[i].requires_grad()) continue;
        if (!is_right(gradients[i], traces_.inputs[i], expected_[which++])) return false;
      }
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  /// If a gradient is expected to be NaN, it must be NaN.
  static bool is_right(Tensor gradient, const Tensor& input, std::vector<double> expected) {
    if (gradient.defined() && gradient.shape() == input.shape() && gradient.dtype() == Dtype::f64) {
      std::vector<double> numbers = gradient.contiguous().to_vector<double>();
      for (size_t i = 0; i < numbers.size(); ++i)
        if (std::isnan(numbers[i]) && std::isnan(expected[i])) numbers[i] = expected[i] = 0;
      gradient = tensor(numbers).reshape(input.shape());
    }
    return compare_with_differences(gradient, input, expected).empty();
  }

  const CaseTraces& traces_;
  std::vector<std::vector<double>> expected_;
};

/// Numbers of any sign, with zeros and ties among them, and a few infinities.
Tensor sample_of(const TensorProxy& proxy, std::mt19937& random, bool has_infinities) {
  std::vector<double> numbers(static_cast<size_t>(static_cast<int64_t>(proxy.shape.numel())));
  for (double& number : numbers) {
    if (!is_floating(proxy.dtype)) number = random() % 2;
    else if (has_infinities && random() % 16 == 0) number = random() % 2 ? HUGE_VAL : -HUGE_VAL;
    else if (random() % 3 == 0) number = static_cast<double>(random() % 5) - 2;
    else number = static_cast<double>(random() % 4001) / 1000 - 2;
  }
  return tensor(numbers).to(proxy.dtype).reshape(proxy.shape);
}

/// An op, or its replacement, as a function of the op's tensors.
Trace function_of(const std::vector<BoundSymbol>& lines, const BoundSymbol& original, int next_id) {
  Trace trace;
  trace.next_id = next_id;
  for_each_argument(original, [&](const Value& v) {
    if (v.is_tensor() && std::find(trace.args.begin(), trace.args.end(), v) == trace.args.end())
      trace.args.push_back(v);
  });
  trace.bound_symbols = lines;
  BoundSymbol last;
  last.symbol = &prims_return_symbol;
  last.args = original.outputs;
  trace.bound_symbols.push_back(last);
  return trace;
}

bool same_numbers(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].defined() != b[i].defined()) return false;
    if (!a[i].defined()) continue;
    if (!(a[i].shape() == b[i].shape()) || a[i].dtype() != b[i].dtype()) return false;
    const std::vector<double> x = a[i].to(Dtype::f64).contiguous().to_vector<double>(),
                              y = b[i].to(Dtype::f64).contiguous().to_vector<double>();
    for (size_t k = 0; k < x.size(); ++k)
      if (x[k] != y[k] && !(std::isnan(x[k]) && std::isnan(y[k]))) return false;
  }
  return true;
}

/// Equal up to rounding in f64, if intermediate values are about 1.
bool same_but_for_rounding(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (same_numbers(a, b)) return true;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].defined() != b[i].defined()) return false;
    if (!a[i].defined()) continue;
    if (a[i].dtype() != Dtype::f64 || b[i].dtype() != Dtype::f64 || !(a[i].shape() == b[i].shape())) return false;
    const std::vector<double> x = a[i].contiguous().to_vector<double>(), y = b[i].contiguous().to_vector<double>();
    double largest = 1, apart = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      if (!std::isfinite(x[k]) || !std::isfinite(y[k])) return false;
      largest = std::max(largest, std::fabs(x[k]));
      apart = std::max(apart, std::fabs(x[k] - y[k]));
    }
    if (apart > 1e-14 * largest) return false;
  }
  return true;
}

/// Returns true if two traces of the same inputs agree for any inputs, not only those of a case.
bool is_same_function(const Trace& before, const Trace& after) {
  std::mt19937 random(1);
  int compared = 0;
  const NoGrad no_grad;
  for (int sample = 0; sample < samples; ++sample) {
    std::vector<Tensor> arguments, expected;
    for (const Value& input : input_values(before))
      arguments.push_back(input.is_tensor() ? sample_of(input.tensor(), random, true) : Tensor());
    try {
      expected = evaluate(before, arguments);
    } catch (const std::exception&) {
      continue;  // an index out of range, say
    }
    try {
      if (!same_numbers(evaluate(after, arguments), expected)) return false;
    } catch (const std::exception&) {
      return false;
    }
    ++compared;
  }
  return compared > 0;
}

/// Other numbers for a case's input: its own turned round, any, none but zeros, all alike, all positive.
Tensor other_input(const Tensor& input, std::mt19937& random) {
  if (!is_floating(input.dtype())) return input;
  TensorProxy proxy;
  proxy.shape = input.shape();
  proxy.dtype = input.dtype();
  switch (random() % 5) {
    case 0: return flip(input.detach().reshape({-1}), 0).reshape(input.shape());
    case 1: return sample_of(proxy, random, false);
    case 2: return zeros_like(input);
    case 3: return full_like(input, 0.5 * static_cast<double>(random() % 3));
    default: return abs(sample_of(proxy, random, false)) + 0.1;
  }
}

/// Returns true if both backwards agree for the forward's results on inputs with zeros and ties among them.
bool is_same_after_forward(const CaseTraces& traces, const Trace& after) {
  std::mt19937 random(1);
  int compared = 0;
  const NoGrad no_grad;
  CaseTraces other = traces;
  for (int sample = 0; sample < forward_samples; ++sample) {
    std::vector<Tensor> inputs, expected;
    for (const Tensor& input : traces.inputs) inputs.push_back(other_input(input, random));
    for (size_t i = 0; i < other.cotangents.size(); ++i)
      if (other.cotangents[i].defined())
        other.cotangents[i] = traces.cotangents[i] * (1 + static_cast<double>(random() % 3));
    try {
      const std::vector<Tensor> given = evaluate(traces.forward, inputs);
      other.saved.assign(given.begin() + static_cast<int64_t>(traces.results.size()),
                         given.begin() + static_cast<int64_t>(traces.results.size() + traces.saved.size()));
      expected = other.run_backward(traces.backward, other.saved);
    } catch (const std::exception&) {
      continue;
    }
    try {
      if (!same_but_for_rounding(other.run_backward(after, other.saved), expected)) return false;
    } catch (const std::exception&) {
      return false;
    }
    ++compared;
  }
  return compared > 0;
}

/// Why a change changes nothing, or "". This is computed, never listed.
std::string equivalence(const Mutant& mutant, const CaseTraces& traces) {
  const int next_id = mutant.trace.next_id;
  if (!mutant.original.empty() && is_same_function(function_of(mutant.original, mutant.original[0], next_id),
                                                   function_of(mutant.lines, mutant.original[0], next_id)))
    return "the line is the same function";  // an axis of size 1, say
  if (is_same_function(traces.backward, mutant.trace))
    return "the backward is the same function";  // the sign of a zero
  if (is_same_after_forward(traces, mutant.trace))
    return "no forward leads to a difference";  // a factor of what is zero
  return "";
}

struct Options {
  std::string only;
  bool shows_equivalents = false;
};

struct Counts {
  size_t mutants = 0, killed = 0, equivalent = 0, survived = 0;
  std::map<std::string, size_t> reasons;  // of the equivalent ones
};

bool is_judged(const OperatorCase& c, const Options& options) {
  if (!c.is_differentiable() || c.no_mutants) return false;
  for (const Tensor& input : c.inputs())
    if (input.numel() == 0) return false;  // nothing to compare
  const std::string_view name = c.symbol->qualified_name();
  return options.only.empty() || c.symbol->name() == options.only || name == options.only || c.name == options.only;
}

/// Mutants of one operator that no case has killed so far, by the mistake in its rule that they stand for.
class Survivors {
 public:
  void judge(const OperatorCase& c, Counts& counts) {
    const auto traces = std::make_shared<const CaseTraces>(differentiate_case(c));
    const Judge judge(c, *traces);
    if (!judge.accepts(traces->backward)) throw UserError("the unchanged backward does not pass");
    for (const Mutant& mutant : mutants_of(traces->backward)) {
      ++counts.mutants;
      if (!judge.accepts(mutant.trace)) {
        ++counts.killed;
        killed_.insert(mutant.mistake);
      } else {
        open_.push_back({c.name, mutant, traces});
      }
    }
  }

  /// A mistake that one case shows is killed in the others too.
  void finish(const Options& options, Counts& counts) {
    for (const Open& open : open_) {
      if (killed_.contains(open.mutant.mistake)) {
        ++counts.killed;
        continue;
      }
      const std::string reason = equivalence(open.mutant, *open.traces);
      if (reason.empty()) {
        ++counts.survived;
        std::printf("SURVIVED %s: %s\n", open.name.c_str(), open.mutant.change.c_str());
      } else {
        ++counts.equivalent;
        ++counts.reasons[reason];
        if (options.shows_equivalents)
          std::printf("SAME     %s: %s: %s\n", open.name.c_str(), open.mutant.change.c_str(), reason.c_str());
      }
    }
  }

 private:
  struct Open {
    std::string name;
    Mutant mutant;
    std::shared_ptr<const CaseTraces> traces;
  };
  std::set<std::string> killed_;
  std::vector<Open> open_;
};

int usage() {
  std::fprintf(stderr, "usage: mutate_gradients [--only OP] [--equivalents]\n");
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--only") == 0 && i + 1 < count) options.only = arguments[++i];
    else if (std::strcmp(arguments[i], "--equivalents") == 0) options.shows_equivalents = true;
    else return usage();
  }
  Counts counts;
  std::map<const Symbol*, Survivors> survivors;
  for (const OperatorCase& c : operator_cases()) {
    if (!is_judged(c, options)) continue;
    try {
      survivors[c.symbol].judge(c, counts);
    } catch (const std::exception& error) {
      std::printf("WRONG    %s: %s\n", c.name.c_str(), error.what());
      ++counts.survived;
    }
  }
  if (survivors.empty()) {
    std::fprintf(stderr, "no case of a differentiable operator is named %s\n", options.only.c_str());
    return 2;
  }
  for (const Symbol* symbol : symbols())
    if (survivors.contains(symbol)) survivors[symbol].finish(options, counts);
  for (const auto& [reason, mutants] : counts.reasons) std::printf("equivalent: %zu, %s\n", mutants, reason.c_str());
  std::printf("%zu mutants, %zu killed, %zu equivalent, %zu survived\n", counts.mutants, counts.killed,
              counts.equivalent, counts.survived);
  return counts.survived > 0;
}
