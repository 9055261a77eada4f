#include "compiled_autograd/run/run_lines.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "autograd/engine/anomaly.h"
#include "autograd/engine/modes.h"
#include "autograd/engine/tensor_autograd.h"
#include "ir/analysis/uses.h"
#include "ir/symbolic/specialize_symbols.h"
#include "pipeline/debug/slice.h"
#include "support/text/text.h"
#include "tracing/evaluate.h"

namespace fulgurite {

namespace {

class OpByOp final : public OpRunner {
 public:
  OpByOp(const Trace& trace, const CapturedBackward& captured, const BackwardGraph& graph, CompiledRun& effects)
      : trace_(trace),
        captured_(captured),
        graph_(graph),
        effects_(effects),
        checks_nan_(autograd_modes().checks_nan) {}

  bool run(const BoundSymbol& op, std::vector<Tensor> arguments, std::vector<Tensor>& results) override {
    const int effect = effect_of(op);
    if (effect < 0) return stands_in(op, arguments, results);
    if (effects_.accumulates(static_cast<size_t>(effect)))
      effects_.accumulate(static_cast<size_t>(effect), arguments[1]);
    else results = effects_.run(static_cast<size_t>(effect), std::move(arguments));
    return true;
  }

  void after(const BoundSymbol& op, std::span<const Tensor> results) override {
    if (!checks_nan_) [[likely]]
      return;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!has_nan(results[i])) continue;
      const int id = op.outputs.read()[i].proxy_id();
      const int call = call_of(op);
      if (call != call_with_nan_) call_with_nan_ = call, first_with_nan_ = &op;
      const auto given = std::ranges::find(captured_.gradients, id, &CapturedBackward::NodeGradient::id);
      if (given != captured_.gradients.end()) refuse(*given);
    }
  }

  [[noreturn]] void fail(const BoundSymbol& op) override {
    const int call = call_of(op);
    if (is_refused_ || !autograd_modes().detects_anomaly || call < 0 || !is_nodes_own(op)) throw;
    explain_failure(*graph_.calls[static_cast<size_t>(call)].node, [] { throw; });
    throw InternalError("an explained failure goes on");
  }

 private:
  // Custom functions may return no gradient; then nothing is computed: zeros without history stand in, and are not
  // accumulated.
  bool stands_in(const BoundSymbol& op, const std::vector<Tensor>& arguments, std::vector<Tensor>& results) const {
    const bool makes_tensors = !op.outputs.empty() && op.outputs.read()[0].is_tensor();
    if (!makes_tensors) return false;
    const int id = op.outputs.read()[0].proxy_id();
    const auto sum = std::ranges::lower_bound(captured_.sums, id, {}, &CapturedBackward::Sum::id);
    if (sum != captured_.sums.end() && sum->id == id) {
      const bool first = effects_.is_there(sum->first_sources), second = effects_.is_there(sum->second_sources);
      if (first && second) return false;
      results.push_back(arguments[first || !second ? 0 : 1]);
      return true;
    }
    const int call = call_of(op);
    if (call < 0 || effects_.is_there(captured_.sources[static_cast<size_t>(call)])) return false;
    for (const Value& output : op.outputs) {
      const TensorProxy& type = output.tensor();
      results.push_back(make_zeros({type.shape, type.dtype, type.device}));
    }
    return true;
  }

  // Errors of post-accumulate hooks are explained with the node, which they are part of.
  bool is_nodes_own(const BoundSymbol& op) const {
    const int effect = effect_of(op);
    if (effect < 0) return true;
    const BackwardEffect::Kind kind = captured_.effects[static_cast<size_t>(effect)].kind;
    return kind == BackwardEffect::Kind::call_backward || kind == BackwardEffect::Kind::accumulate_grad ||
           kind == BackwardEffect::Kind::post_accumulate_hook;
  }

  int call_of(const BoundSymbol& op) const {
    if (const int effect = effect_of(op); effect >= 0) return captured_.effects[static_cast<size_t>(effect)].call;
    int call = -1;
    for_each_output(op, [&](const Value& output) {
      const auto next = std::ranges::upper_bound(captured_.first_ids, proxy_id(output));
      call = static_cast<int>(next - captured_.first_ids.begin()) - 1;
    });
    return call;
  }

  [[noreturn]] void refuse(const CapturedBackward::NodeGradient& gradient) {
    is_refused_ = true;
    throw UserError(text::cat(nan_text(*graph_.calls[static_cast<size_t>(gradient.call)].node, gradient.input),
                              "\nin the captured backward at `", op_text(trace_, *first_with_nan_), "`",
                              destination(gradient.id)));
  }

  // The destination of a gradient: the first leaf that it reaches.
  std::string destination(int id) const {
    std::vector<char> comes_of_it(static_cast<size_t>(trace_.next_id));
    comes_of_it[static_cast<size_t>(id)] = true;
    for (const BoundSymbol& op : trace_.bound_symbols) {
      bool uses = false;
      for_each_use(op, [&](int used) { uses = uses || comes_of_it[static_cast<size_t>(used)] != 0; });
      if (!uses) continue;
      if (const int effect = effect_of(op); effect >= 0 && effects_.accumulates(static_cast<size_t>(effect)))
        return leaf_text(op, effect);
      for_each_output(op, [&](const Value& output) {
        if (proxy_id(output) >= 0) comes_of_it[static_cast<size_t>(proxy_id(output))] = true;
      });
    }
    return ", on the way to a gradient that was asked for";
  }

  std::string leaf_text(const BoundSymbol& op, int effect) const {
    const Tensor& leaf = *graph_.calls[static_cast<size_t>(captured_.effects[static_cast<size_t>(effect)].call)].leaf;
    const std::string& argument = op.args.read()[1].tensor().name;
    const std::string name = leaf.name();
    return text::cat(", on the way to the gradient of ", name.empty() ? argument : text::cat(name, " (", argument, ")"),
                     ", ", type_text(leaf));
  }

  const Trace& trace_;
  const CapturedBackward& captured_;
  const BackwardGraph& graph_;
  CompiledRun& effects_;
  const bool checks_nan_;
  int call_with_nan_ = -1;
  bool is_refused_ = false;
  const BoundSymbol* first_with_nan_ = nullptr;
};

}  // namespace

Trace lines_of(const Capture& capture, const std::vector<uint64_t>& sizes) {
  Trace ops = capture.captured.trace;
  if (has_numbers(ops)) {
    SymbolValues numbers(sizes);
    ops = specialize_symbols(ops, numbers);
  }
  return delete_last_used(ops);
}

std::vector<Tensor> run_lines(const Trace& ops, const CapturedBackward& captured, const BackwardCall& call,
                              const BackwardGraph& graph, const std::vector<Tensor>& arguments, CompiledRun& effects) {
  const GradModeScope grad_mode(call.create_graph);
  OpByOp runner(ops, captured, graph, effects);
  return evaluate(ops, arguments, runner);
}

}  // namespace fulgurite
