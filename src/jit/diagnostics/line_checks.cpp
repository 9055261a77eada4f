#include "jit/diagnostics/line_checks.h"

#include <algorithm>
#include <cmath>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "executors/registry.h"
#include "ir/analysis/trace_values.h"
#include "ir/printing/print_common.h"
#include "pipeline/debug/compare_tensors.h"
#include "pipeline/debug/locate_mismatch.h"
#include "pipeline/debug/slice.h"
#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

// The op, its executor, and its location.
std::string place_text(const Trace& trace, const BoundSymbol& bound, const std::string& fusion) {
  std::string out = op_text(trace, bound);
  if (!fusion.empty()) out += text::cat(" in ", fusion);
  else if (bound.implementation && !bound.is_fusion()) out += text::cat(" on ", executor_name(*bound.implementation));
  out += text::cat(" of ", trace.name);
  for (const ForwardOrigin& origin : bound.forward_origins())
    if (!origin.result.empty()) {
      out += text::cat(", for ", origin_text(origin));
      break;
    }
  return out;
}

/// check_nan: the first op that computes a NaN or an infinity from arguments without any.
class CheckNan final : public ExecutionObserver {
 public:
  explicit CheckNan(std::string fusion = {}, std::string name = {}, bool is_lost = false)
      : fusion_(std::move(fusion)), name_(std::move(name)), is_lost_(is_lost) {}

  void after(const Trace& trace, const BoundSymbol& bound, std::span<const Tensor> arguments,
             std::span<const Tensor> results) const override {
    if (bound.symbol->traits.view && !bound.implementation) return;
    Found made;
    for (size_t i = 0; i < results.size() && !made.is_bad(); ++i) {
      made = look(results[i]);
      made.result = i;
    }
    if (!made.is_bad()) {
      // A NaN inside a fusion may not reach its results: where() and comparisons discard it.
      if (bound.is_fusion()) look_inside(trace, bound, arguments, true);
      return;
    }
    Found given = numbers_of(bound);
    for (const Tensor& argument : arguments) {
      const Found found = look(argument);
      given.has_nan = given.has_nan || found.has_nan;
      given.has_infinity = given.has_infinity || found.has_infinity;
    }
    // A NaN of infinities originates here; an infinity of infinities or NaNs does not.
    if (given.has_nan || (given.has_infinity && !made.has_nan)) return;
    // Only a NaN computed from finite arguments is an error: many functions compute an infinity that where() discards.
    if (is_lost_ && (given.has_infinity || !made.has_nan)) return;
    if (bound.is_fusion()) look_inside(trace, bound, arguments, false);
    Trace named = trace;
    if (!name_.empty()) named.name = name_;
    std::vector<Value> outputs;
    for_each_output(bound, [&](const Value& value) {
      if (value.is_tensor()) outputs.push_back(value);
    });
    throw UserError(
        text::cat("check_nan: ", place_text(named, bound, fusion_), " made ", made.value, " at element ",
                  fulgurite::place_text(results[made.result], made.index), " of ", proxy_name(outputs.at(made.result)),
                  given.has_infinity ? " from infinities" : " from finite arguments",
                  bound.is_fusion() ? ", which its ops run one by one do not" : ""),
        bound.source);
  }

 private:
  struct Found {
    bool has_nan = false, has_infinity = false;
    size_t result = 0, index = 0;
    double value = 0;
    bool is_bad() const { return has_nan || has_infinity; }
  };

  static Found look(const Tensor& tensor) {
    Found found;
    if (!tensor.defined() || !is_floating(tensor.dtype())) return found;
    const std::vector<double> elements = elements_of(tensor);
    for (size_t i = 0; i < elements.size(); ++i) {
      if (std::isfinite(elements[i])) continue;
      const bool is_first_nan = std::isnan(elements[i]) && !found.has_nan;
      if (!found.is_bad() || is_first_nan) {
        found.index = i;
        found.value = elements[i];
      }
      found.has_nan = found.has_nan || std::isnan(elements[i]);
      found.has_infinity = found.has_infinity || std::isinf(elements[i]);
    }
    return found;
  }
  static Found numbers_of(const BoundSymbol& bound) {
    Found found;
    for_each_argument(bound, [&](const Value& value) {
      if (!value.is_float()) return;
      found.has_nan = found.has_nan || std::isnan(value.floating().hint());
      found.has_infinity = found.has_infinity || std::isinf(value.floating().hint());
    });
    return found;
  }

  // Runs its ops one by one, each reported to an observer of its own.
  static void look_inside(const Trace& trace, const BoundSymbol& fusion, std::span<const Tensor> arguments,
                          bool is_lost) {
    const Trace opened = executable_slice(slice_of_op(trace, fusion), {"eager"});
    std::vector<Tensor> results;
    OpInterpreter(opened, std::make_shared<CheckNan>(fusion.name(), trace.name, is_lost)).run(arguments, results);
  }

  const std::string fusion_, name_;
  const bool is_lost_;  // true if the finding does not reach the fusion's results
};

/// verify_against_eager: every op that another executor runs must agree with the eager one on the same arguments.
class VerifyOps final : public ExecutionObserver {
 public:
  void after(const Trace& trace, const BoundSymbol& bound, std::span<const Tensor> arguments,
             std::span<const Tensor> results) const override {
    if (!bound.implementation || bound.implementation->executor == "eager") return;
    const Trace slice = slice_of_op(trace, bound);
    std::vector<Tensor> expected;
    Program(executable_slice(slice, {"eager"})).run(arguments, expected);
    const std::vector<Value> made = returned_values(slice);
    for (size_t i = 0; i < results.size(); ++i)
      if (const std::string found = difference(results[i], expected[i], bound); !found.empty())
        report(trace, bound, arguments, made[i], found);
  }

 private:
  static std::string difference(const Tensor& actual, const Tensor& expected, const BoundSymbol& op) {
    const auto found = find_difference(actual, expected, allowed_difference(expected.dtype(), {&op, 1}));
    if (!found) return {};
    return text::cat("element ", fulgurite::place_text(expected, found->index), " is ", found->actual, ", and ",
                     found->expected, " on eager");
  }

  // For a fusion, the op inside: the last of the shortest prefix that is wrong when compiled as one, or else the
  // producer of the result.
  [[noreturn]] static void report(const Trace& trace, const BoundSymbol& bound, std::span<const Tensor> arguments,
                                  const Value& made, const std::string& found) {
    const BoundSymbol* op = &maker(bound, made);
    std::string value = proxy_name(made), detail = found;
    const auto different = [&](const Tensor& actual, const Tensor& expected) {
      return difference(actual, expected, bound);
    };
    if (bound.is_fusion())
      if (const auto inside = locate_mismatch(trace, bound, {arguments.begin(), arguments.end()},
                                              {std::string(bound.implementation->executor)}, {"eager"}, different)) {
        op = &bound.subsymbols.read()[inside->op];
        value = proxy_name(inside->value);
        detail = inside->detail;
      }
    throw UserError(text::cat("verify_against_eager: ", place_text(trace, *op, bound.is_fusion() ? bound.name() : ""),
                              ": ", value, ": ", detail),
                    op->source.line > 0 ? op->source : bound.source);
  }

  // For a fusion, the op that computes the value.
  static const BoundSymbol& maker(const BoundSymbol& bound, const Value& value) {
    if (bound.is_fusion())
      for (const BoundSymbol& op : bound.subsymbols.read())
        if (std::ranges::find(op.outputs.read(), value) != op.outputs.read().end()) return op;
    return bound;
  }
};

/// Several, one after another.
class ObserverList final : public ExecutionObserver {
 public:
  explicit ObserverList(std::vector<std::shared_ptr<const ExecutionObserver>> all) : all_(std::move(all)) {}
  void before(const Trace& trace, const BoundSymbol& bound, std::span<const Tensor> arguments) const override {
    for (const auto& watch : all_) watch->before(trace, bound, arguments);
  }
  void after(const Trace& trace, const BoundSymbol& bound, std::span<const Tensor> arguments,
             std::span<const Tensor> results) const override {
    for (const auto& watch : all_) watch->after(trace, bound, arguments, results);
  }
  std::shared_ptr<const ProgramRunner> runner(const Trace& trace) const override {
    for (const auto& watch : all_)
      if (auto found = watch->runner(trace)) return found;
    return {};
  }

 private:
  const std::vector<std::shared_ptr<const ExecutionObserver>> all_;
};

}  // namespace

std::shared_ptr<const ExecutionObserver> make_execution_observer(const DebugOptions& options,
                                                                 std::shared_ptr<const ExecutionObserver> other) {
  std::vector<std::shared_ptr<const ExecutionObserver>> all;
  if (other) all.push_back(std::move(other));
  if (options.check_nan) all.push_back(std::make_shared<CheckNan>());
  if (options.verify_against_eager) all.push_back(std::make_shared<VerifyOps>());
  if (all.size() < 2) return all.empty() ? nullptr : all.front();
  return std::make_shared<ObserverList>(std::move(all));
}

}  // namespace fulgurite::detail
