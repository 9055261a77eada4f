#include <fulgurite/error.h>
#include <fulgurite/fusion_executor.h>

#include "ir/analysis/trace_values.h"
#include "ops/core/autocast.h"
#include "ops/core/recorder.h"
#include "ir/structural.h"
#include "tracing/argument_pack.h"
#include "tracing/custom_function.h"
#include "tracing/evaluate.h"
#include "tracing/symbolic_replay.h"

namespace fulgurite {

namespace {

// Runs bound symbols one by one through dispatch, with a table from proxy id to value. Ops recorded on the way keep
// their order and their tags.
class Evaluation final : public ArgumentPack::Resolver {
 public:
  explicit Evaluation(const Trace& trace, SymbolicReplay* numbers = nullptr, OpRunner* runner = nullptr)
      : tensors_(trace.next_id), numbers_(numbers), runner_(runner), recorder_(innermost_recorder()) {
    if (!recorder_) return;
    outer_tags_ = recorder_->tags();
    outer_sequence_ = recorder_->sequence();
    if (outer_sequence_ == 0) recorder_->set_sequence(recorder_->next_sequence());
  }
  ~Evaluation() override {
    if (!recorder_) return;
    recorder_->set_tags(outer_tags_);
    recorder_->set_sequence(outer_sequence_);
  }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  void give(const Value& value, const Tensor& tensor) {
    if (value.is_tensor()) tensors_[value.tensor().id] = tensor;
  }
  Tensor get(const Value& value) const { return value.is_tensor() ? tensors_[value.tensor().id] : Tensor(); }

  void run(const BoundSymbol& bound) {
    if (!runner_) return run_op(bound);
    try {
      run_op(bound);
    } catch (...) {
      runner_->fail(bound);
    }
  }

  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override { return tensors_[proxy->id]; }
  Int integer(Int symbol) override { return numbers_ ? numbers_->integer(*symbol.proxy()) : symbol; }
  Float floating(Float symbol) override { return numbers_ ? numbers_->floating(*symbol.proxy()) : symbol; }
  Bool boolean(Bool symbol) override { return numbers_ ? numbers_->boolean(*symbol.proxy()) : symbol; }

 private:
  void run_op(const BoundSymbol& bound) {
    const Symbol* symbol = bound.symbol;
    if (is_return(*symbol) || is_unpack(*symbol) || is_clear(*symbol)) return;
    if (numbers_ && makes_numbers(bound)) return;
    if (is_del(*symbol)) {
      for_each_argument(bound, [&](const Value& value) { give(value, Tensor()); });
      return;
    }
    if (runner_ && run_by_runner(bound)) return;
    if (is_custom_function(bound)) return call(bound);
    if (bound.is_fusion()) {
      for (const BoundSymbol& subsymbol : bound.subsymbols) run_op(subsymbol);
      return;
    }
    if (symbol->traits.structural && !is_write(*symbol))
      throw InternalError(text::cat(symbol->qualified_name(), " cannot be evaluated"));
    take_tags(bound);
    const ArgumentPack pack(bound, *this);
    Results results;
    dispatch(*symbol, pack.arguments(), bound.source, results);
    take_results(bound, {results.data(), results.size()});
  }

  bool run_by_runner(const BoundSymbol& bound) {
    std::vector<Tensor> arguments, results;
    for_each_argument(bound, [&](const Value& value) {
      if (value.is_tensor()) arguments.push_back(get(value));
    });
    if (!runner_->run(bound, std::move(arguments), results)) return false;
    take_results(bound, results);
    return true;
  }

  // A number proxy holds its own definition.
  static bool makes_numbers(const BoundSymbol& bound) {
    bool any = false, all = true;
    for_each_output(bound, [&](const Value& value) {
      any = any || (value.is_proxy() && !value.is_tensor());
      all = all && !value.is_tensor();
    });
    return any && all;
  }

  void call(const BoundSymbol& custom) {
    take_tags(custom);
    std::vector<Tensor> arguments;
    for (const Value& value : custom.args)
      if (value.is_tensor()) arguments.push_back(get(value));
    take_results(custom, call_custom_function(custom, arguments));
  }

  void take_tags(const BoundSymbol& bound) {
    if (!recorder_) return;
    Tags tags = outer_tags_;
    tags.add(bound.tags);
    recorder_->set_tags(tags);
  }

  void take_results(const BoundSymbol& bound, std::span<const Tensor> results) {
    if (results.size() != bound.outputs.size())
      throw InternalError(
          text::cat(bound.symbol->qualified_name(), " gave ", results.size(), " results for ", bound.outputs.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      give(bound.outputs[i], results[i]);
      const bool leaves_checkpoint = recorder_ && bound.outputs[i].tensor().tags.has(Tag::checkpoint_result);
      if (leaves_checkpoint) results[i].impl()->proxy->tags.add(Tag::checkpoint_result);
    }
    if (runner_) runner_->after(bound, results);
  }

  const AutocastScope as_recorded_{std::nullopt};
  std::vector<Tensor> tensors_;
  SymbolicReplay* numbers_;
  OpRunner* runner_;
  Recorder* recorder_;
  Tags outer_tags_;
  int outer_sequence_ = 0;
};

}  // namespace

namespace {

std::vector<Tensor> evaluate_ops(Evaluation& evaluation, const Trace& trace, const std::vector<Value>& expected,
                                 std::span<const Tensor> inputs) {
  if (expected.size() != inputs.size())
    throw InternalError(text::cat(trace.name, " takes ", expected.size(), " inputs, got ", inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) evaluation.give(expected[i], inputs[i]);
  for (const BoundSymbol& bound : trace.bound_symbols) evaluation.run(bound);
  std::vector<Tensor> results;
  for (const Value& value : returned_values(trace)) results.push_back(evaluation.get(value));
  return results;
}

}  // namespace

std::vector<Tensor> evaluate(const Trace& trace, std::span<const Tensor> inputs) {
  Evaluation evaluation(trace);
  return evaluate_ops(evaluation, trace, input_values(trace), inputs);
}

std::vector<Tensor> evaluate(const Trace& trace, std::span<const Tensor> inputs, OpRunner& runner) {
  Evaluation evaluation(trace, nullptr, &runner);
  return evaluate_ops(evaluation, trace, input_values(trace), inputs);
}

std::vector<Tensor> evaluate(const Trace& trace, std::span<const Tensor> inputs, std::span<const Int> given) {
  SymbolicReplay numbers(given);
  if (trace.numbers)
    for (const auto& number : *trace.numbers)
      if (number->constraint == NumberProxy::Constraint::fixed) numbers.fix(*number);
  Evaluation evaluation(trace, &numbers);
  std::vector<Value> expected = input_values(trace);
  std::erase_if(expected, [](const Value& value) { return value.is_proxy() && !value.is_tensor(); });
  return evaluate_ops(evaluation, trace, expected, inputs);
}

}  // namespace fulgurite
