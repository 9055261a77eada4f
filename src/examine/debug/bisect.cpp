#include <fulgurite/autograd_modes.h>
#include <fulgurite/examine.h>
#include <fulgurite/symbol.h>

#include "examine/debug/differences.h"
#include "examine/debug/slice_inputs.h"
#include "ir/analysis/trace_values.h"
#include "ir/structural.h"
#include "pipeline/debug/locate_mismatch.h"
#include "pipeline/debug/slice.h"
#include "pipeline/op_interpreter.h"

namespace fulgurite::examine {

namespace {

/// Finds the first op whose own computation differs from the reference.
class Bisection {
 public:
  Bisection(const Trace& trace, const std::vector<Tensor>& inputs, std::vector<std::string> executors,
            const std::vector<std::string>& reference, const Tolerance& tolerance)
      : given_(trace),
        all_(without_claims(concrete(trace))),
        inputs_(inputs),
        executors_(std::move(executors)),
        tolerance_(tolerance),
        reference_(reference) {}

  std::optional<Difference> run() {
    const SameDraws draws;
    const std::vector<Tensor> inputs = chosen(given_, all_, inputs_);
    expected_ = OpInterpreter(executable_slice(all_, reference_), nullptr).values(copies(inputs));
    draws.again();
    const Trace executed = executable_slice(all_, executors_);
    std::vector<Tensor> actual(static_cast<size_t>(executed.next_id));
    for (size_t i = 0; i < inputs.size(); ++i) value_of(actual, all_.args[i]) = inputs[i].detach();
    for (const BoundSymbol& bound : executed.bound_symbols.read()) {
      if (bound.outputs.empty()) continue;
      const Trace op = slice_of_op(executed, bound);
      const std::vector<Tensor> results = run_op(op, actual);
      const std::vector<Value> made = returned_values(op);
      for (size_t i = 0; i < made.size(); ++i) value_of(actual, made[i]) = results[i];
      for (size_t i = 0; i < made.size(); ++i)
        if (const std::string detail = difference(made[i], results[i], bound); !detail.empty())
          return describe(executed, bound, proxy_name(made[i]), detail);
    }
    return {};
  }

 private:
  static Tensor& value_of(std::vector<Tensor>& values, const Value& value) {
    const auto id = static_cast<size_t>(value.tensor().id);
    if (id >= values.size()) values.resize(id + 1);
    return values[id];
  }
  // The reference's value, if it computed one: its decomposition may have other values.
  const Tensor* expected(const Value& value) const {
    const auto id = static_cast<size_t>(value.tensor().id);
    // Subsymbols that only one of the sides has may have the other's ids.
    const bool is_common = id < expected_.size() && id < static_cast<size_t>(all_.next_id);
    return is_common && expected_[id].defined() ? &expected_[id] : nullptr;
  }
  std::string difference(const Value& value, const Tensor& actual, const BoundSymbol& op) const {
    const Tensor* const wanted = expected(value);
    return wanted ? difference_text(actual, *wanted, tolerance_, {&op, 1}) : std::string();
  }

  std::vector<Tensor> run_op(const Trace& op, std::vector<Tensor>& actual) const {
    std::vector<Tensor> arguments, results;
    for (const Value& arg : op.args) {
      const Tensor* const wanted = expected(arg);
      arguments.push_back(wanted ? *wanted : value_of(actual, arg));
    }
    // Written tensors are copied, so that later ops still read their inputs as they were.
    if (is_write(op.bound_symbols.read()[0])) arguments = copies(arguments);
    Program(op).run(arguments, results);
    return results;
  }

  Difference describe(const Trace& executed, const BoundSymbol& bound, std::string value, std::string detail) {
    Difference out;
    const BoundSymbol* at = &bound;
    if (bound.is_fusion()) {
      out.fusion = bound.name();
      const auto different = [&](const Tensor& actual, const Tensor& wanted) {
        return difference_text(actual, wanted, tolerance_, {&bound, 1});
      };
      std::vector<Tensor> given;
      for (const Value& arg : slice_of_op(executed, bound).args) given.push_back(*expected(arg));
      if (const auto inside = locate_mismatch(executed, bound, given, executors_, reference_, different)) {
        at = &bound.subsymbols.read()[inside->op];
        value = proxy_name(inside->value);
        detail = inside->detail;
      }
    }
    out.value = std::move(value);
    out.detail = std::move(detail);
    out.text = op_text(executed, *at);
    out.source = at->source.line > 0 ? at->source : bound.source;
    out.line = place_of(given_, *at);
    return out;
  }

  const Trace& given_;
  const Trace all_;
  const std::vector<Tensor>& inputs_;
  const std::vector<std::string> executors_;
  const Tolerance tolerance_;
  const std::vector<std::string> reference_;
  std::vector<Tensor> expected_;
};

}  // namespace

std::optional<Difference> bisect(const Trace& trace, const std::vector<Tensor>& inputs,
                                 const std::vector<std::string>& executors, const std::vector<std::string>& reference,
                                 Tolerance tolerance) {
  check_not_recording("bisect");
  const NoGrad no_grad;
  return Bisection(trace, inputs, executors, reference, tolerance).run();
}

}  // namespace fulgurite::examine
