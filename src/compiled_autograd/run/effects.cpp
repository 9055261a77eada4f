#include "compiled_autograd/run/effects.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/engine/accumulate_grad.h"
#include "autograd/engine/modes.h"
#include "autograd/hooks/node_hooks.h"
#include "support/context.h"

namespace fulgurite {

namespace {

constexpr std::string_view call_hook_definition =
    "def call_hook(hook, tensor, hook_type):\n"
    "  return tensor.clone()\n";

constinit const Symbol call_hook_symbol{
    .signature = "compiled_autograd.call_hook(int hook, Tensor gradient, *, str hook_type) -> Tensor",
    .documentation = "Calls a hook on a gradient; gives what it puts in the gradient's place.",
    .python = "call_hook({0}, {1}, {2})",
    .python_definition = call_hook_definition,
    .traits = {.effects = Effects::all()},
};

constinit const Symbol call_leaf_hook_symbol{
    .signature = "compiled_autograd.call_hook(int hook, Tensor variable, *, str hook_type) -> ()",
    .documentation = "Calls a hook on a leaf whose gradient has been added to.",
    .python = "call_hook({0}, {1}, {2})",
    .python_definition = call_hook_definition,
    .traits = {.effects = Effects::all()},
};

constinit const Symbol final_callbacks_symbol{
    .signature = "compiled_autograd._exec_final_callbacks_stub(int hooks) -> ()",
    .documentation = "Stands where the callbacks run that hooks queue for the end.",
    .python = "_exec_final_callbacks_stub({0})",
    .python_definition =
        "def _exec_final_callbacks_stub(hooks):\n"
        "  pass\n",
    .traits = {.effects = Effects::all()},
};

constinit const Symbol call_node_hooks_symbol{
    .signature =
        "compiled_autograd.call_node_hooks(int hooks, Tensor[] gradients, Tensor[] of_outputs, *, str hook_type) -> "
        "Tensor[]",
    .documentation = "Calls a node's hooks on its gradients; gives what they put in their place.",
    .python = "call_node_hooks({0}, {1}, {2}, {3})",
    .python_definition =
        "def call_node_hooks(hooks, gradients, of_outputs, hook_type):\n"
        "  return [gradient.clone() for gradient in gradients]\n",
    .traits = {.effects = Effects::all()},
};

constinit const Symbol retain_grad_symbol{
    .signature = "compiled_autograd.retain_grad(int tensor, Tensor gradient) -> ()",
    .documentation = "Hands a gradient to the tensors that retain theirs.",
    .python = "retain_grad({0}, {1})",
    .python_definition =
        "def retain_grad(tensor, gradient):\n"
        "  pass\n",
    .traits = {.effects = Effect::memory},
};

constinit const Symbol call_backward_symbol{
    .signature = "compiled_autograd.call_backward(int call, Tensor[] gradients, *, str function) -> Tensor[]",
    .documentation = "Calls a custom function's backward.",
    .traits = {.effects = Effects::all()},
};

constinit const Symbol accumulate_grad_symbol{
    .signature = "compiled_autograd.accumulate_grad_(int call, Tensor variable, Tensor? gradient) -> ()",
    .documentation = "Adds a gradient to that of a leaf.",
    .python = "accumulate_grad_({0}, {1}, {2})",
    .python_definition =
        "def accumulate_grad_(call, variable, gradient):\n"
        "  variable.grad = gradient.clone() if variable.grad is None else variable.grad + gradient\n",
    .traits = {.effects = Effect::memory},
};

// A program step must own its result: it is copied unless uniquely owned.
Tensor owned(Tensor tensor) { return is_uniquely_owned(tensor) ? tensor : clone(tensor.detach()).contiguous(); }

void append_tensors(const Argument& argument, std::vector<Tensor>& tensors) {
  if (argument.kind() == Argument::Kind::tensors)
    tensors.insert(tensors.end(), argument.tensors().begin(), argument.tensors().end());
  else if (argument.is_tensor()) tensors.push_back(argument.tensor());
}

std::vector<std::function<void(Tensor)>> hooks_of_leaf(const Node& node, size_t) {
  return post_accumulate_hooks(*node.accumulates_into());
}

bool accept(Arguments) { return true; }

void run_effect(Arguments arguments, SourceLocation, Results& results) {
  CompiledRun* const run = autograd_modes().compiled_run;
  if (run == nullptr)
    throw UserError("a captured backward runs only in compiled autograd's scope: it needs the graph that it is of");
  const auto effect = static_cast<size_t>(arguments[0].integer().hint());
  if (arguments.size() == 3 && arguments[2].is_tensor() && run->accumulates(effect))
    return run->accumulate(effect, arguments[2].tensor());
  std::vector<Tensor> tensors;
  for (const Argument& argument : arguments.subspan(1)) append_tensors(argument, tensors);
  for (Tensor& result : run->run(effect, std::move(tensors))) results.push_back(owned(std::move(result)));
}

/// Distributes the tensors of an op, in order; missing ones are undefined.
class Spread {
 public:
  Spread(const CompiledRun& run, std::vector<Tensor> tensors) : run_(run), tensors_(std::move(tensors)) {}
  Tensor next() { return std::move(tensors_[taken_++]); }
  std::vector<Tensor> next(const std::vector<BackwardEffect::GradientRef>& positions) {
    std::vector<Tensor> out(positions.size());
    for (size_t i = 0; i < out.size(); ++i) {
      if (!positions[i].is_given) continue;
      Tensor tensor = next();
      if (run_.is_there(positions[i].sources)) out[i] = std::move(tensor);
    }
    return out;
  }

 private:
  const CompiledRun& run_;
  std::vector<Tensor> tensors_;
  size_t taken_ = 0;
};

/// The identities and versions of tensors.
class Contents {
 public:
  explicit Contents(std::span<const Tensor> tensors) {
    for (const Tensor& tensor : tensors) before_.push_back(of(tensor));
  }
  bool differ_from(std::span<const Tensor> tensors) const { return !std::ranges::equal(before_, tensors, {}, {}, of); }

 private:
  using Content = std::pair<const void*, uint32_t>;
  static Content of(const Tensor& tensor) {
    if (!tensor.defined()) return {};
    return {tensor.impl().get(), tensor.impl()->storage->version.load(std::memory_order_relaxed)};
  }
  SmallVector<Content, 2> before_;
};

}  // namespace

const Symbol& symbol_of(BackwardEffect::Kind kind) {
  switch (kind) {
    case BackwardEffect::Kind::tensor_hook: return call_hook_symbol;
    case BackwardEffect::Kind::retain_grad: return retain_grad_symbol;
    case BackwardEffect::Kind::call_backward: return call_backward_symbol;
    case BackwardEffect::Kind::accumulate_grad: return accumulate_grad_symbol;
    case BackwardEffect::Kind::post_accumulate_hook: return call_leaf_hook_symbol;
    case BackwardEffect::Kind::final_callbacks: return final_callbacks_symbol;
    case BackwardEffect::Kind::before_node:
    case BackwardEffect::Kind::after_node: return call_node_hooks_symbol;
  }
  throw InternalError("an effect has no symbol");
}

const Implementation& implementation_of(BackwardEffect::Kind kind) {
  static const UserImplementation user{.accepts = accept, .run = run_effect, .execution_transform = {}};
  constexpr auto engine = [](const Symbol& symbol) {
    return Implementation{.executor = "engine", .symbol = &symbol, .user = &user};
  };
  static const Implementation implementations[] = {engine(call_hook_symbol),      engine(call_leaf_hook_symbol),
                                                   engine(retain_grad_symbol),    engine(call_node_hooks_symbol),
                                                   engine(call_backward_symbol),  engine(accumulate_grad_symbol),
                                                   engine(final_callbacks_symbol)};
  for (const Implementation& one : implementations)
    if (one.symbol == &symbol_of(kind)) return one;
  throw InternalError("an effect has no implementation");
}

int effect_of(const BoundSymbol& op) {
  constexpr const Symbol* symbols[] = {&call_hook_symbol,       &call_leaf_hook_symbol, &final_callbacks_symbol,
                                       &call_node_hooks_symbol, &retain_grad_symbol,    &call_backward_symbol,
                                       &accumulate_grad_symbol};
  if (std::ranges::find(symbols, op.symbol) == std::end(symbols)) return -1;
  return static_cast<int>(op.args.read()[0].integer().hint());
}

bool calls_user(BackwardEffect::Kind kind) {
  return kind != BackwardEffect::Kind::retain_grad && kind != BackwardEffect::Kind::accumulate_grad &&
         kind != BackwardEffect::Kind::final_callbacks;
}

CompiledRun::CompiledRun(const BackwardCall& call, const BackwardGraph& graph, const std::vector<Tensor>& inputs,
                         const std::vector<BackwardEffect>& effects)
    : call_(call),
      graph_(graph),
      effects_(effects),
      hook_changes_(context().hook_changes.load(std::memory_order_relaxed)),
      first_written_(static_cast<int>(graph.calls.size())) {
  for (const BackwardEffect& effect : effects)
    if (effect.kind == BackwardEffect::Kind::call_backward)
      came_.resize(static_cast<size_t>(effect.first_source) + effect.results.size());
  if (std::ranges::none_of(effects, [](const BackwardEffect& effect) { return calls_user(effect.kind); })) return;
  calls_hooks_ = std::ranges::any_of(effects, [](const BackwardEffect& effect) {
    return calls_user(effect.kind) && effect.kind != BackwardEffect::Kind::call_backward;
  });
  hooks_at_start_ = count_hooks();
  saved_.reserve(inputs.size());
  size_t next = call.gradients.size();
  for (size_t i = 0; i < graph.calls.size(); ++i)
    for (size_t k = 0; k < graph.calls[i].saved; ++k) {
      const Tensor& input = inputs[next++];
      if (!input.defined()) continue;
      const std::atomic<uint32_t>& version = input.impl()->storage->version;
      saved_.push_back({&version, version.load(std::memory_order_relaxed), static_cast<int>(i)});
    }
}

// A saved tensor modified in place is an error when its node runs.
void CompiledRun::begin_turn(int call, bool before_node) {
  if (leaves_ && call > turn_) [[unlikely]]
    throw *leaves_;
  while (first_written_ < call + !before_node) {
    turn_ = first_written_;
    std::vector<Tensor> saved;
    graph_.calls[static_cast<size_t>(first_written_)].traced->append_saved(saved, call_.create_graph);
    // The node has its own copy of the elements, so the write is harmless.
    for (Saved& one : saved_)
      if (one.call == first_written_) one.seen = one.version->load(std::memory_order_relaxed);
    find_writes(first_written_ + 1);
  }
  turn_ = call;
}

void CompiledRun::find_writes(int first_call) {
  first_written_ = static_cast<int>(graph_.calls.size());
  const auto first = std::ranges::lower_bound(saved_, first_call, {}, &Saved::call);
  const auto written = std::find_if(
      first, saved_.end(), [](const Saved& one) { return one.version->load(std::memory_order_relaxed) != one.seen; });
  if (written != saved_.end()) first_written_ = written->call;
}

bool CompiledRun::is_there(const Sources& sources) const {
  return sources.empty() ||
         std::ranges::any_of(sources, [this](int source) { return came_[static_cast<size_t>(source)] != 0; });
}

bool CompiledRun::accumulates(size_t effect) const {
  return effects_[effect].kind == BackwardEffect::Kind::accumulate_grad;
}

void CompiledRun::accumulate(size_t effect, const Tensor& gradient) {
  begin_turn(effects_[effect].call, false);
  if (!is_there(effects_[effect].of_outputs[0].sources)) return;
  accumulate_in_turn(*graph_.calls[static_cast<size_t>(effects_[effect].call)].leaf, gradient, call_.create_graph);
}

// The op's outputs; undefined ones become zeros.
std::vector<Tensor> CompiledRun::chosen(std::vector<Tensor> found, const BackwardEffect& effect) {
  std::vector<Tensor> out;
  for (const auto& [position, type] : effect.results) {
    if (effect.kind == BackwardEffect::Kind::call_backward)
      came_[static_cast<size_t>(effect.first_source) + out.size()] = found[position].defined();
    out.push_back(found[position].defined() ? std::move(found[position]) : make_zeros(type));
  }
  return out;
}

std::vector<Tensor> CompiledRun::run(size_t effect, std::vector<Tensor> arguments) {
  const BackwardEffect::Kind kind = effects_[effect].kind;
  const bool before_node = kind == BackwardEffect::Kind::tensor_hook || kind == BackwardEffect::Kind::retain_grad ||
                           kind == BackwardEffect::Kind::before_node;
  begin_turn(effects_[effect].call, before_node);
  std::vector<Tensor> results = call(effect, std::move(arguments));
  if (calls_user(kind)) {
    find_writes(turn_ + !before_node);
    check_changed_hooks(turn_ + 1);
  }
  return results;
}

bool CompiledRun::is_last_of_list(size_t number) const {
  if (number + 1 == effects_.size()) return true;
  const BackwardEffect &effect = effects_[number], &next = effects_[number + 1];
  return effect.kind != next.kind || effect.call != next.call || effect.output != next.output;
}

template <class F>
std::span<const F> CompiledRun::take_hooks(std::vector<F>& list, size_t number,
                                           std::vector<F> (*find)(const Node&, size_t)) {
  const BackwardEffect& effect = effects_[number];
  const bool is_first = number == 0 || is_last_of_list(number - 1);
  if (is_first) list = find(*graph_.calls[static_cast<size_t>(effect.call)].node, effect.output);
  const std::span<const F> left = std::span<const F>(list).subspan(std::min(effect.hook, list.size()));
  return is_last_of_list(number) ? left : left.first(std::min<size_t>(1, left.size()));
}

std::vector<Tensor> CompiledRun::call(size_t number, std::vector<Tensor> arguments) {
  const BackwardEffect& effect = effects_[number];
  const NodeCall& call = graph_.calls[static_cast<size_t>(effect.call)];
  Node& node = *call.node;
  // User code may keep its arguments, which the program reuses in its next step: pass copies.
  if (effect.kind != BackwardEffect::Kind::post_accumulate_hook && !call_.create_graph)
    for (Tensor& argument : arguments) argument = clone(argument);
  Spread spread(*this, std::move(arguments));
  switch (effect.kind) {
    case BackwardEffect::Kind::tensor_hook: {
      std::vector<Tensor> gradient = spread.next(effect.of_outputs);
      const std::span<const Hook> hooks = take_hooks(tensor_hooks_, number, hooks_of_output);
      const Contents before(gradient);
      // Traceable hooks after the op's own are ops of the captured program.
      for (size_t i = 0; i < hooks.size() && gradient[0].defined(); ++i)
        if (i == 0 || !hooks[i].recorded_as()) run_hook(hooks[i], gradient[0]);
      log_tensor_hooks(effect, gradient[0], before.differ_from(gradient));
      return chosen(std::move(gradient), effect);
    }
    case BackwardEffect::Kind::retain_grad:
      hand_to_retaining(node, effect.output, spread.next(effect.of_outputs)[0]);
      return {};
    case BackwardEffect::Kind::accumulate_grad: return {};  // accumulate()
    case BackwardEffect::Kind::post_accumulate_hook:
      for (const auto& hook : take_hooks(post_accumulate_hooks_, number, hooks_of_leaf)) hook(*node.accumulates_into());
      return {};
    case BackwardEffect::Kind::final_callbacks: return {};
    case BackwardEffect::Kind::before_node: {
      std::vector<Tensor> gradients = spread.next(effect.of_outputs);
      const Contents before(gradients);
      run_before(node, gradients);
      if (before.differ_from(gradients)) finished_.of[&node].before = gradients;
      return chosen(std::move(gradients), effect);
    }
    case BackwardEffect::Kind::call_backward: {
      const NodeRun how{.create_graph = call_.create_graph, .needed = call.needed};
      std::vector<Tensor> gradients = node.apply(spread.next(effect.of_outputs), how);
      if (calls_hooks_) finished_.of[&node].results = gradients;
      return chosen(std::move(gradients), effect);
    }
    case BackwardEffect::Kind::after_node: {
      std::vector<Tensor> of_inputs = spread.next(effect.of_inputs);
      const Contents before(of_inputs);
      run_after(node, of_inputs, spread.next(effect.of_outputs));
      if (before.differ_from(of_inputs)) finished_.of[&node].after = of_inputs;
      return chosen(std::move(of_inputs), effect);
    }
  }
  return {};
}

}  // namespace fulgurite
