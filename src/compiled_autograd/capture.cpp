#include "compiled_autograd/capture.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/accumulate_grad.h"
#include "autograd/function_node.h"
#include "autograd/modes.h"
#include "autograd/node_hooks.h"
#include "autograd/traced_node.h"
#include "compiled_autograd/jitted_names.h"
#include "ops/dispatch.h"
#include "tensor/same_memory.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

/// A gradient on its way; undefined where there is none.
struct Gradient {
  Tensor value;
  Sources sources;
  bool defined() const { return value.defined(); }
};
using Gradients = std::vector<Gradient>;

/// Of what is there when either is.
Sources either(const Sources& a, const Sources& b) {
  if (a.empty() || b.empty()) return {};
  Sources both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

Sources any_of(const Gradients& gradients) {
  Sources all;
  bool is_first = true;
  for (const Gradient& gradient : gradients) {
    if (!gradient.defined()) continue;
    all = is_first ? gradient.sources : either(all, gradient.sources);
    is_first = false;
  }
  return all;
}

std::vector<Effect::Place> places_of(const Gradients& gradients) {
  std::vector<Effect::Place> out;
  for (const Gradient& gradient : gradients) out.push_back({gradient.defined(), gradient.sources});
  return out;
}

TensorType type_of_value(const Tensor& tensor) { return {tensor.shape(), tensor.dtype(), tensor.device()}; }

/// Runs the engine's algorithm on proxies.
class Recorder {
 public:
  Recorder(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs, const BackwardSizes& sizes,
           const SizePattern& pattern)
      : call_(call),
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
    for (size_t i = 0; i < graph_.calls.size(); ++i) gradients_[i].resize(graph_.calls[i].node->output_count());
    for (const NodeCall::Target& root : graph_.roots) deliver(root, {next_input("gradient"), {}});
    for (size_t i = 0; i < graph_.calls.size(); ++i) run_call(static_cast<int>(i));
    origin_ = {};
    tracer_.set_origin({});
    tracer_.set_location(std::nullopt);
    line({.kind = Effect::Kind::final_callbacks}, {}, {});
    std::vector<Value> results;
    for (size_t i = 0; i < asked_.size(); ++i) {
      if (!asked_[i].defined()) continue;
      results.push_back(tracer_.value_of(asked_[i].value));
      out_.asked.push_back({i, asked_[i].sources});
    }
    out_.trace = tracer_.finish(Value(std::move(results)));
    std::stable_partition(out_.trace.args.begin(), out_.trace.args.end(), [](const Value& argument) { return argument.is_tensor(); });
    if (!tracer_.captures().empty()) throw InternalError("compiled autograd: a node's backward reads a tensor that it did not save");
    return std::move(out_);
  }

 private:
  // One of the gathered sizes.
  Int size(size_t place) {
    const int symbol = pattern_.symbol(place);
    if (symbol < 0) return pattern_.size(place);
    Int& known = symbols_[static_cast<size_t>(symbol)];
    if (!known.is_symbolic()) known = tracer_.add_integer(pattern_.size(place), text::cat("size_", named_symbols_++), symbol);
    return known;
  }
  TensorType with_sizes(TensorType type, size_t first) {
    for (Int& one : type.shape) one = size(first++);
    return type;
  }
  std::vector<Int> own_sizes(int place) {
    std::vector<Int> own;
    if (pattern_.has_symbols())
      for (size_t at = sizes_.of_calls[static_cast<size_t>(place)]; at < sizes_.own_ends[static_cast<size_t>(place)]; ++at) own.push_back(size(at));
    return own;
  }

  // The proxy for the next gathered tensor; the same one for the same memory.
  Tensor next_input(const std::string& name) {
    const size_t place = next_input_++;
    const Tensor& concrete = inputs_[place];
    if (!concrete.defined()) return {};
    for (size_t k = 0; k < out_.arguments.size(); ++k)
      if (!out_.arguments[k].is_leaf && is_same_memory(inputs_[out_.arguments[k].place], concrete)) return arguments_[k];
    return add_argument({false, place}, concrete, sizes_.of_inputs[place], name);
  }

  Tensor add_argument(CapturedBackward::Argument source, const Tensor& concrete, size_t first_size, const std::string& name) {
    int& number = source.is_leaf ? leaves_ : source.place < call_.gradients.size() ? given_ : saved_;
    out_.arguments.push_back(source);
    arguments_.push_back(tracer_.add_argument(with_sizes(type_of_value(concrete), first_size), false, text::cat(name, "_", number++)));
    return arguments_.back();
  }

  void deliver(const NodeCall::Target& target, const Gradient& gradient) {
    if (target.call < 0 || !gradient.defined()) return;
    Gradient& slot = gradients_[static_cast<size_t>(target.call)][static_cast<size_t>(target.output)];
    if (slot.defined()) slot = {add(slot.value, gradient.value), either(slot.sources, gradient.sources)};
    else slot = gradient;
  }

  // A line for what only a run can do; `tensors` are its arguments, one list after the other.
  std::vector<Tensor> line(Effect effect, std::vector<Value> arguments, const std::vector<TensorType>& types,
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

  Value list_of(const Gradients& gradients) {
    std::vector<Value> items;
    for (const Gradient& gradient : gradients)
      if (gradient.defined()) items.push_back(tracer_.value_of(gradient.value));
    return Value(std::move(items));
  }

  void run_call(int place) {
    const NodeCall& call = graph_.calls[static_cast<size_t>(place)];
    Node& node = *call.node;
    tracer_.set_location(node.source());
    origin_ = {};
    origin_.push_back({-1, text::cat(node.name(), " (NodeCall ", place + 1, ")"), "", ForwardOrigin::Part::node});
    tracer_.set_origin(origin_);
    Gradients of_outputs = std::move(gradients_[static_cast<size_t>(place)]);
    run_tensor_hooks(place, of_outputs);
    for (const NodeCall::Asked& asked : call.asked) asked_[asked.input] = of_outputs[static_cast<size_t>(asked.output)];
    if (!call.is_needed) return;
    std::vector<Tensor> saved;
    for (size_t i = 0; i < call.saved; ++i) saved.push_back(next_input("saved"));
    const Gradients of_inputs = run_node(place, of_outputs, saved);
    for (size_t i = 0; i < of_inputs.size(); ++i) deliver(call.targets[i], of_inputs[i]);
  }

  void run_tensor_hooks(int place, Gradients& gradients) {
    const Node& node = *graph_.calls[static_cast<size_t>(place)].node;
    for (size_t output = 0; output < gradients.size(); ++output) {
      Gradient& gradient = gradients[output];
      if (!gradient.defined()) continue;
      const std::vector<Effect::Place> places = {{true, gradient.sources}};
      const TensorType type = type_of_value(gradient.value);
      const size_t hooks = hooks_of_output(node, output).size();
      for (size_t hook = 0; hook < hooks; ++hook) {
        Effect effect{.kind = Effect::Kind::tensor_hook, .call = place, .output = output, .hook = hook, .of_outputs = places};
        effect.results.push_back({0, type});
        gradient.value = line(std::move(effect), {tracer_.value_of(gradient.value)}, {type}, {{"hook_type", Value("tensor_pre_hook")}})[0];
      }
      if (count_retaining(node, output) == 0) continue;
      line({.kind = Effect::Kind::retain_grad, .call = place, .output = output, .of_outputs = places}, {tracer_.value_of(gradient.value)}, {});
    }
  }

  // A line that has lists of gradients and gives some of them again.
  void run_lists(Effect effect, std::vector<Value> arguments, Gradients& changed, const char* hook_type) {
    std::vector<TensorType> types;
    for (size_t i = 0; i < changed.size(); ++i) {
      if (!changed[i].defined()) continue;
      types.push_back(type_of_value(changed[i].value));
      effect.results.push_back({i, types.back()});
    }
    std::vector<Tensor> results = line(std::move(effect), std::move(arguments), types, {{"hook_type", Value(hook_type)}});
    size_t next = 0;
    for (Gradient& gradient : changed)
      if (gradient.defined()) gradient.value = std::move(results[next++]);
  }

  Gradients run_node(int place, Gradients& of_outputs, const std::vector<Tensor>& saved) {
    Node& node = *graph_.calls[static_cast<size_t>(place)].node;
    Node::Hooks* const hooks = node.existing_hooks();
    if (hooks && !hooks->before.empty())
      run_lists({.kind = Effect::Kind::before_node, .call = place, .of_outputs = places_of(of_outputs)},
                {list_of(of_outputs), Value(std::vector<Value>())}, of_outputs, "pre_hook");
    Gradients of_inputs = apply(place, of_outputs, saved);
    of_inputs.resize(node.next_edges().size());
    if (hooks && !hooks->after.empty())
      run_lists({.kind = Effect::Kind::after_node, .call = place, .of_outputs = places_of(of_outputs), .of_inputs = places_of(of_inputs)},
                {list_of(of_inputs), list_of(of_outputs)}, of_inputs, "post_hook");
    return of_inputs;
  }

  Gradients apply(int place, const Gradients& gradients, const std::vector<Tensor>& saved) {
    const NodeCall& call = graph_.calls[static_cast<size_t>(place)];
    Node& node = *call.node;
    const bool is_given = std::ranges::any_of(gradients, [](const Gradient& g) { return g.defined(); });
    if (node.accumulates_into()) {
      accumulate(place, gradients);
      return {};
    }
    if (TracedNode* const traced = call.traced) {
      if (!is_given) return {};
      std::vector<Tensor> given;
      for (const Gradient& gradient : gradients) given.push_back(gradient.value);
      Gradients of_inputs;
      const size_t first_line = tracer_.recorded().size();
      const std::vector<Int> sizes = own_sizes(place);
      for (Tensor& tensor : traced->record(saved, std::move(given), call.needed, sizes)) of_inputs.push_back({std::move(tensor), any_of(gradients)});
      jitted_.name(*traced, tracer_.recorded().subspan(first_line));
      // Hooks after the node see what is asked for.
      if (!call_.inputs.empty())
        for (size_t i = 0; i < of_inputs.size(); ++i)
          if (call.targets[i].call < 0) of_inputs[i] = {};
      return of_inputs;
    }
    return call_function(place, dynamic_cast<const FunctionNode&>(node), gradients);
  }

  void accumulate(int place, const Gradients& gradients) {
    const Tensor& leaf = *graph_.calls[static_cast<size_t>(place)].node->accumulates_into();
    const size_t hooks = post_accumulate_hooks(leaf).size();
    if (!gradients[0].defined() && hooks == 0) return;
    const size_t first_size = sizes_.of_calls[static_cast<size_t>(place)];
    const Value variable = tracer_.value_of(add_argument({true, static_cast<size_t>(place)}, leaf, first_size, "leaf"));
    if (gradients[0].defined())
      line({.kind = Effect::Kind::accumulate_grad, .call = place, .of_outputs = places_of(gradients)},
           {variable, tracer_.value_of(gradients[0].value)}, {});
    for (size_t hook = 0; hook < hooks; ++hook)
      line({.kind = Effect::Kind::post_accumulate_hook, .call = place, .hook = hook}, {variable}, {}, {{"hook_type", Value("post_acc_grad_hook")}});
  }

  Gradients call_function(int place, const FunctionNode& function, const Gradients& gradients) {
    const NodeCall& call = graph_.calls[static_cast<size_t>(place)];
    Effect effect{.kind = Effect::Kind::call_backward, .call = place, .of_outputs = places_of(gradients), .first_source = sources_};
    std::vector<TensorType> types;
    // Hooks after the node see all that it gives.
    const bool is_seen = function.existing_hooks() != nullptr && !function.existing_hooks()->after.empty();
    size_t next_size = sizes_.of_calls[static_cast<size_t>(place)];
    for (size_t i = 0; i < call.targets.size(); ++i) {
      const size_t first_size = next_size;
      next_size += function.inputs[i].shape.size();
      if (call.targets[i].call < 0 && !(is_seen && function.is_tensor[i])) continue;
      types.push_back(with_sizes(function.inputs[i], first_size));
      effect.results.push_back({i, types.back()});
    }
    const std::vector<Effect::Result> places = effect.results;
    std::vector<Tensor> results = line(std::move(effect), {list_of(gradients)}, types, {{"function", Value(function.node_name)}});
    Gradients of_inputs(call.targets.size());
    for (size_t k = 0; k < places.size(); ++k) of_inputs[places[k].place] = {std::move(results[k]), {sources_++}};
    return of_inputs;
  }

  const BackwardCall& call_;
  const BackwardGraph& graph_;
  const std::vector<Tensor>& inputs_;
  const BackwardSizes& sizes_;
  const SizePattern& pattern_;
  Tracer tracer_;
  std::vector<Int> symbols_;  // of the pattern, as far as they are arguments
  int named_symbols_ = 0;
  JittedNames jitted_{graph_};
  std::vector<Gradients> gradients_;  // by call and output
  Gradients asked_;
  std::vector<Tensor> arguments_;
  size_t next_input_ = 0;
  int given_ = 0, saved_ = 0, leaves_ = 0;  // arguments so far
  int sources_ = 0;
  ForwardOrigins origin_;  // of the call that is recorded
  CapturedBackward out_;
};

}  // namespace

std::vector<Tensor> gather_inputs(const BackwardCall& call, BackwardGraph& graph) {
  std::vector<Tensor> inputs;
  inputs.reserve(2 * graph.calls.size() + call.gradients.size());
  inputs.assign(call.gradients.begin(), call.gradients.end());
  for (NodeCall& one : graph.calls) {
    const size_t before = inputs.size();
    if (one.traced != nullptr && one.is_needed) one.traced->append_saved(inputs);
    one.saved = inputs.size() - before;
  }
  return inputs;
}

std::string why_not_captured(const BackwardCall& call, const BackwardGraph& graph) {
  if (call.create_graph) return "the gradients are to be differentiated again (create_graph)";
  if (autograd_modes().detects_anomaly || autograd_modes().checks_nan) return "anomalies are to be detected";
  for (const NodeCall& one : graph.calls) {
    const bool is_known = one.leaf || one.traced || dynamic_cast<const FunctionNode*>(one.node);
    if (!is_known) return text::cat(one.node->name(), " is not captured yet");
  }
  return {};
}

CapturedBackward capture(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs, const BackwardSizes& sizes,
                         const SizePattern& pattern) {
  return Recorder(call, graph, inputs, sizes, pattern).run();
}

}  // namespace fulgurite
