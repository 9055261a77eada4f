#include "compiled_autograd/capture.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/compiled/traced_node.h"
#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/modes.h"
#include "autograd/functions/function_node.h"
#include "autograd/hooks/node_hooks.h"
#include "compiled_autograd/gradients.h"
#include "compiled_autograd/jitted_names.h"
#include "ir/analysis/effects.h"
#include "ops/core/dispatch.h"
#include "tensor/same_memory.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

using Kind = BackwardEffect::Kind;

/// One of the hooks on the gradients of a node's outputs.
struct HookPosition {
  int call;
  size_t output, hook;
  friend bool operator==(const HookPosition&, const HookPosition&) = default;
};

/// A traceable hook cannot be recorded.
struct UntraceableHook {
  HookPosition position;
  std::string why;
};

/// Runs the engine's algorithm on proxies.
class BackwardRecorder {
 public:
  /// `called` are the traceable hooks that are called instead of recorded.
  BackwardRecorder(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs,
                   const BackwardSizes& sizes, const SizePattern& pattern, const std::vector<HookPosition>& called)
      : called_(called),
        call_(call),
        graph_(graph),
        inputs_(inputs),
        sizes_(sizes),
        pattern_(pattern),
        tracer_("compiled_backward"),
        symbols_(pattern.symbols()),
        gradients_(graph.calls.size()),
        asked_(call.inputs.size()) {}

  CapturedBackward run() {
    const InterpreterScope scope(&tracer_);
    const GradModeScope no_grad(false);
    tracer_.graph_breaks().forbid("in a hook that is recorded");
    for (size_t i = 0; i < graph_.calls.size(); ++i) gradients_[i].resize(graph_.calls[i].node->output_count());
    for (const NodeCall::Target& root : graph_.roots) deliver(root, {next_input("gradient"), {}});
    for (size_t i = 0; i < graph_.calls.size(); ++i) run_call(static_cast<int>(i));
    origin_ = {};
    tracer_.set_origin({});
    tracer_.set_location(std::nullopt);
    op({.kind = Kind::final_callbacks, .call = static_cast<int>(graph_.calls.size()) - 1}, {}, {});
    std::vector<Value> results;
    for (size_t i = 0; i < asked_.size(); ++i) {
      if (!asked_[i].defined()) continue;
      results.push_back(tracer_.value_of(asked_[i].value));
      out_.asked.push_back({i, asked_[i].sources});
    }
    out_.trace = tracer_.finish(Value(std::move(results)));
    std::stable_partition(out_.trace.args.begin(), out_.trace.args.end(),
                          [](const Value& argument) { return argument.is_tensor(); });
    if (tracer_.captures().size() != captured_)
      throw InternalError("compiled autograd: a node's backward reads a tensor that it did not save");
    return std::move(out_);
  }

 private:
  // One of the gathered sizes.
  Int size(size_t position) {
    const int symbol = pattern_.symbol(position);
    if (symbol < 0) return pattern_.size(position);
    Int& known = symbols_[static_cast<size_t>(symbol)];
    if (!known.is_symbolic())
      known = tracer_.scalars().add_integer(pattern_.size(position), text::cat("size_", named_symbols_++), symbol);
    return known;
  }
  TensorType with_sizes(TensorType type, size_t first) {
    for (Int& one : type.shape) one = size(first++);
    return type;
  }
  std::vector<Int> own_sizes(int position) {
    std::vector<Int> own;
    if (pattern_.has_symbols())
      for (size_t at = sizes_.of_calls[static_cast<size_t>(position)];
           at < sizes_.own_ends[static_cast<size_t>(position)]; ++at)
        own.push_back(size(at));
    return own;
  }

  // The proxy for the next gathered tensor; the same proxy for the same memory.
  Tensor next_input(const std::string& name) {
    const size_t position = next_input_++;
    const Tensor& concrete = inputs_[position];
    if (!concrete.defined()) return {};
    for (size_t k = 0; k < out_.arguments.size(); ++k) {
      const CapturedBackward::Argument& known = out_.arguments[k];
      if (!known.is_leaf && !known.captured.defined() && is_same_input(call_, inputs_[known.position], concrete))
        return arguments_[k];
    }
    return add_argument({false, position}, concrete, sizes_.of_inputs[position], name);
  }

  Tensor add_argument(CapturedBackward::Argument source, const Tensor& concrete, size_t first_size,
                      const std::string& name) {
    int& number = source.is_leaf ? leaves_ : source.position < call_.gradients.size() ? given_ : saved_;
    out_.arguments.push_back(source);
    arguments_.push_back(
        tracer_.add_argument(with_sizes(type_of(concrete), first_size), false, text::cat(name, "_", number++)));
    return arguments_.back();
  }

  int id_of(const Tensor& value) { return tracer_.value_of(value).proxy_id(); }

  void deliver(const NodeCall::Target& target, const RecordedGradient& gradient) {
    if (target.call < 0 || !gradient.defined()) return;
    RecordedGradient& slot = gradients_[static_cast<size_t>(target.call)][static_cast<size_t>(target.output)];
    if (!slot.defined()) {
      slot = gradient;
      return;
    }
    const Tensor sum = add(slot.value, gradient.value);
    out_.sums.push_back({id_of(sum), id_of(slot.value), id_of(gradient.value), slot.sources, gradient.sources});
    slot = {sum, either(slot.sources, gradient.sources)};
  }

  // Records an op with a side effect; `tensors` are its arguments, one list after the other.
  std::vector<Tensor> op(BackwardEffect effect, std::vector<Value> arguments, const std::vector<TensorType>& types,
                         std::vector<std::pair<std::string, Value>> options = {}) {
    BoundSymbol bound;
    bound.symbol = &symbol_of(effect.kind);
    bound.implementation = &implementation_of(effect.kind);
    bound.source = graph_.calls[static_cast<size_t>(effect.call)].node->source();
    bound.forward = origin_;
    arguments.insert(arguments.begin(), Value(static_cast<int64_t>(out_.effects.size())));
    bound.args = std::move(arguments);
    bound.kwargs = std::move(options);
    std::vector<Tensor> results;
    std::vector<Value> outputs;
    for (const TensorType& type : types) {
      const auto proxy = tracer_.make_proxy(type, false);
      results.push_back(tracer_.adopt(proxy));
      outputs.emplace_back(proxy);
    }
    bound.outputs = std::move(outputs);
    out_.effects.push_back(std::move(effect));
    tracer_.append(std::move(bound));
    return results;
  }

  Value list_of(const RecordedGradients& gradients) {
    std::vector<Value> items;
    for (const RecordedGradient& gradient : gradients)
      if (gradient.defined()) items.push_back(tracer_.value_of(gradient.value));
    return Value(std::move(items));
  }

  void run_call(int position) {
    const NodeCall& call = graph_.calls[static_cast<size_t>(position)];
    Node& node = *call.node;
    tracer_.set_location(node.source());
    origin_ = {};
    origin_.push_back({-1, text::cat(node.name(), " (NodeCall ", position + 1, ")"), "", ForwardOrigin::Part::node});
    tracer_.set_origin(origin_);
    out_.first_ids.push_back(tracer_.trace().next_id);
    RecordedGradients of_outputs = std::move(gradients_[static_cast<size_t>(position)]);
    out_.sources.push_back(any_of(of_outputs));
    run_tensor_hooks(position, of_outputs);
    for (const NodeCall::Asked& asked : call.asked) asked_[asked.input] = of_outputs[static_cast<size_t>(asked.output)];
    if (!call.is_needed) return;
    std::vector<Tensor> saved;
    for (size_t i = 0; i < call.saved; ++i) saved.push_back(next_input("saved"));
    const RecordedGradients of_inputs = run_node(position, of_outputs, saved);
    for (size_t i = 0; i < of_inputs.size(); ++i) {
      if (of_inputs[i].defined()) out_.gradients.push_back({position, i, id_of(of_inputs[i].value)});
      deliver(call.targets[i], of_inputs[i]);
    }
  }

  void run_tensor_hooks(int position, RecordedGradients& gradients) {
    const Node& node = *graph_.calls[static_cast<size_t>(position)].node;
    for (size_t output = 0; output < gradients.size(); ++output) {
      RecordedGradient& gradient = gradients[output];
      if (!gradient.defined()) continue;
      const std::vector<BackwardEffect::GradientRef> positions = {{true, gradient.sources}};
      const TensorType type = type_of(gradient.value);
      const std::vector<Hook> hooks = hooks_of_output(node, output);
      for (size_t hook = 0; hook < hooks.size(); ++hook) {
        if (hooks[hook].recorded_as() &&
            std::ranges::find(called_, HookPosition{position, output, hook}) == called_.end()) {
          record_hook({position, output, hook}, hooks[hook], gradient.value);
          continue;
        }
        BackwardEffect effect{
            .kind = Kind::tensor_hook, .call = position, .output = output, .hook = hook, .of_outputs = positions};
        effect.results.push_back({0, type});
        gradient.value = op(std::move(effect), {tracer_.value_of(gradient.value)}, {type},
                            {{"hook_type", Value("tensor_pre_hook")}})[0];
      }
      if (count_retaining(node, output) == 0) continue;
      op({.kind = Kind::retain_grad, .call = position, .output = output, .of_outputs = positions},
         {tracer_.value_of(gradient.value)}, {});
    }
  }

  // Records the hook's operators as ops with the hook's own source lines.
  void record_hook(HookPosition position, const Hook& hook, Tensor& gradient) {
    const size_t first_line = tracer_.recorded().size();
    try {
      // The hook may write its argument, which is a value of its own.
      const Tensor given = tracer_.adopt(tracer_.value_of(gradient).tensor_ref());
      tracer_.set_location(std::nullopt);
      const Tensor replaced = hook(given);
      tracer_.set_location(graph_.calls[static_cast<size_t>(position.call)].node->source());
      const Value result = tracer_.value_of(replaced.defined() ? replaced : given);
      check_recorded(result, tracer_.value_of(gradient), first_line);
      gradient = tracer_.adopt(result.tensor_ref());
    } catch (const std::exception& error) {
      throw UntraceableHook{position, error.what()};
    }
    for (; captured_ < tracer_.captures().size(); ++captured_) {
      const Tracer::Capture& capture = tracer_.captures()[captured_];
      out_.arguments.push_back({.captured = capture.concrete});
      arguments_.push_back(tracer_.adopt(capture.proxy));
    }
  }

  void check_recorded(const Value& result, const Value& gradient, size_t first_line) {
    const TensorProxy &after = result.tensor(), &before = gradient.tensor();
    bool keeps_type = after.dtype == before.dtype && after.shape.size() == before.shape.size();
    for (size_t d = 0; keeps_type && d < after.shape.size(); ++d)
      keeps_type = after.shape[d].hint() == before.shape[d].hint();
    if (!keeps_type)
      throw UserError(
          text::cat("it turned ", before.type_text(), " into ", after.type_text(), "; it must keep sizes and dtype"));
    for (const Tracer::Capture& capture : tracer_.captures())
      if (tracer_.value_of(capture.concrete).proxy_id() != capture.proxy->id)
        throw UserError(text::cat("it writes into ", type_text(capture.concrete), ", which is not its argument"));
    for (const BoundSymbol& op : tracer_.recorded().subspan(first_line))
      if (draws_numbers(*op.symbol)) throw UserError(text::cat("it draws random numbers, ", op.name(), "()"));
  }

  // Records an op on lists of gradients that returns some of them changed.
  void run_lists(BackwardEffect effect, std::vector<Value> arguments, RecordedGradients& changed,
                 const char* hook_type) {
    std::vector<TensorType> types;
    for (size_t i = 0; i < changed.size(); ++i) {
      if (!changed[i].defined()) continue;
      types.push_back(type_of(changed[i].value));
      effect.results.push_back({i, types.back()});
    }
    std::vector<Tensor> results = op(std::move(effect), std::move(arguments), types, {{"hook_type", Value(hook_type)}});
    size_t next = 0;
    for (RecordedGradient& gradient : changed)
      if (gradient.defined()) gradient.value = std::move(results[next++]);
  }

  RecordedGradients run_node(int position, RecordedGradients& of_outputs, const std::vector<Tensor>& saved) {
    Node& node = *graph_.calls[static_cast<size_t>(position)].node;
    Node::Hooks* const hooks = node.existing_hooks();
    if (hooks && !hooks->before.empty())
      run_lists({.kind = Kind::before_node, .call = position, .of_outputs = places_of(of_outputs)},
                {list_of(of_outputs), Value(std::vector<Value>())}, of_outputs, "pre_hook");
    RecordedGradients of_inputs = apply(position, of_outputs, saved);
    of_inputs.resize(node.next_edges().size());
    if (hooks && !hooks->after.empty())
      run_lists({.kind = Kind::after_node,
                 .call = position,
                 .of_outputs = places_of(of_outputs),
                 .of_inputs = places_of(of_inputs)},
                {list_of(of_inputs), list_of(of_outputs)}, of_inputs, "post_hook");
    return of_inputs;
  }

  RecordedGradients apply(int position, const RecordedGradients& gradients, const std::vector<Tensor>& saved) {
    const NodeCall& call = graph_.calls[static_cast<size_t>(position)];
    Node& node = *call.node;
    const bool is_given = std::ranges::any_of(gradients, [](const RecordedGradient& g) { return g.defined(); });
    if (node.accumulates_into()) {
      accumulate(position, gradients);
      return {};
    }
    if (TracedNode* const traced = call.traced) {
      if (!is_given) return {};
      std::vector<Tensor> given;
      for (const RecordedGradient& gradient : gradients) given.push_back(gradient.value);
      RecordedGradients of_inputs;
      const size_t first_line = tracer_.recorded().size();
      const std::vector<Int> sizes = own_sizes(position);
      const NodeRun how{.create_graph = call_.create_graph, .needed = call.needed};
      for (Tensor& tensor : traced->record(saved, std::move(given), how, sizes))
        of_inputs.push_back({std::move(tensor), any_of(gradients)});
      jitted_.name(*traced, tracer_.recorded().subspan(first_line));
      // Post-hooks see the requested gradients.
      if (!call_.inputs.empty())
        for (size_t i = 0; i < of_inputs.size(); ++i)
          if (call.targets[i].call < 0) of_inputs[i] = {};
      return of_inputs;
    }
    return call_function(position, *node.as_function(), gradients);
  }

  void accumulate(int position, const RecordedGradients& gradients) {
    const Tensor& leaf = *graph_.calls[static_cast<size_t>(position)].node->accumulates_into();
    const size_t hooks = post_accumulate_hooks(leaf).size();
    if (!gradients[0].defined() && hooks == 0) return;
    const size_t first_size = sizes_.of_calls[static_cast<size_t>(position)];
    const Value variable =
        tracer_.value_of(add_argument({true, static_cast<size_t>(position)}, leaf, first_size, "leaf"));
    if (gradients[0].defined())
      op({.kind = Kind::accumulate_grad, .call = position, .of_outputs = places_of(gradients)},
         {variable, tracer_.value_of(gradients[0].value)}, {});
    for (size_t hook = 0; hook < hooks; ++hook)
      op({.kind = Kind::post_accumulate_hook, .call = position, .hook = hook}, {variable}, {},
         {{"hook_type", Value("post_acc_grad_hook")}});
  }

  RecordedGradients call_function(int position, const FunctionNode& function, const RecordedGradients& gradients) {
    const NodeCall& call = graph_.calls[static_cast<size_t>(position)];
    BackwardEffect effect{
        .kind = Kind::call_backward, .call = position, .of_outputs = places_of(gradients), .first_source = sources_};
    std::vector<TensorType> types;
    // Post-hooks see all gradients of the node.
    const bool is_seen = function.existing_hooks() != nullptr && !function.existing_hooks()->after.empty();
    size_t next_size = sizes_.of_calls[static_cast<size_t>(position)];
    for (size_t i = 0; i < call.targets.size(); ++i) {
      const size_t first_size = next_size;
      next_size += function.inputs[i].shape.size();
      if (call.targets[i].call < 0 && !(is_seen && function.is_tensor[i])) continue;
      types.push_back(with_sizes(function.inputs[i], first_size));
      effect.results.push_back({i, types.back()});
    }
    const std::vector<BackwardEffect::Result> positions = effect.results;
    std::vector<Tensor> results =
        op(std::move(effect), {list_of(gradients)}, types, {{"function", Value(function.node_name)}});
    RecordedGradients of_inputs(call.targets.size());
    for (size_t k = 0; k < positions.size(); ++k)
      of_inputs[positions[k].position] = {std::move(results[k]), {sources_++}};
    return of_inputs;
  }

  const std::vector<HookPosition>& called_;
  const BackwardCall& call_;
  const BackwardGraph& graph_;
  const std::vector<Tensor>& inputs_;
  const BackwardSizes& sizes_;
  const SizePattern& pattern_;
  Tracer tracer_;
  std::vector<Int> symbols_;  // of the pattern, those that are arguments
  int named_symbols_ = 0;
  JittedNames jitted_{graph_};
  std::vector<RecordedGradients> gradients_;  // by call and output
  RecordedGradients asked_;
  std::vector<Tensor> arguments_;
  size_t next_input_ = 0;
  size_t captured_ = 0;                     // the number of the tracer's captures that are arguments
  int given_ = 0, saved_ = 0, leaves_ = 0;  // arguments so far
  int sources_ = 0;
  ForwardOrigins origin_;  // of the call being recorded
  CapturedBackward out_;
};

}  // namespace

CapturedBackward capture(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs,
                         const BackwardSizes& sizes, const SizePattern& pattern, bool fullgraph) {
  std::vector<HookPosition> called;
  std::vector<std::string> reasons;
  for (;;) {
    try {
      CapturedBackward captured = BackwardRecorder(call, graph, inputs, sizes, pattern, called).run();
      captured.called_hooks = std::move(reasons);
      return captured;
    } catch (const UntraceableHook& hook) {
      const Node& node = *graph.calls[static_cast<size_t>(hook.position.call)].node;
      const std::string what =
          text::cat("a traceable hook on the gradient of ", node.name(), " (NodeCall ", hook.position.call + 1, ")");
      if (fullgraph) throw UserError(text::cat(what, " cannot be recorded (fullgraph): ", hook.why));
      reasons.push_back(
          text::cat("compiled autograd: ", what, " cannot be recorded and is called instead: ", hook.why));
      called.push_back(hook.position);
    }
  }
}

}  // namespace fulgurite
