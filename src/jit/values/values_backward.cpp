// Calls whose saved tensors another engine keeps.
#include <fulgurite/autograd.h>
#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/outside_memory.h>

#include "autograd/engine/modes.h"
#include "jit/values/value_call.h"
#include "support/text/text.h"
#include "support/thread_state.h"

namespace fulgurite {

namespace {

// A call's nodes are given these in the place of what they saved; each backward runs on one thread.
class GivingBack {
 public:
  explicit GivingBack(const std::vector<Tensor>& saved) : outer_(std::exchange(thread_state.given_back, &saved)) {}
  ~GivingBack() { thread_state.given_back = outer_; }
  GivingBack(const GivingBack&) = delete;
  GivingBack& operator=(const GivingBack&) = delete;

 private:
  const std::vector<Tensor>* outer_;
};

Tensor tensor_at(size_t position) {
  if (!thread_state.given_back || position >= thread_state.given_back->size())
    throw UserError("the backward of a jitted call needs what the call saved: run it by CompiledBackward::run");
  return (*thread_state.given_back)[position];
}

/// A handle of its own for an argument, so that the caller's has no history.
Tensor needing_gradient(const Tensor& tensor, SourceLocation at) {
  if (!tensor.defined() || !is_floating(tensor.dtype()))
    throw UserError("call_with_saved: only floating tensors have a gradient", at);
  return alias(tensor, at).requires_grad_();
}

}  // namespace

struct CompiledBackward::State {
  std::vector<Tensor> inputs;   // that need a gradient
  std::vector<Tensor> outputs;  // of each result; undefined where it has no gradient
};

CompiledBackward::CompiledBackward(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledBackward::~CompiledBackward() = default;

namespace {

/// The results that have a cotangent, and these.
struct Seeds {
  std::vector<Tensor> outputs, cotangents;
  std::vector<size_t> places;
};

Seeds seeds_of(const std::vector<Tensor>& outputs, std::span<const Tensor> cotangents, SourceLocation at) {
  if (cotangents.size() != outputs.size())
    throw UserError(text::cat("CompiledBackward: ", cotangents.size(), " cotangents for ", outputs.size(), " results"),
                    at);
  Seeds out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !cotangents[i].defined()) continue;
    out.outputs.push_back(outputs[i]);
    out.cotangents.push_back(cotangents[i]);
    out.places.push_back(i);
  }
  return out;
}

std::vector<Tensor> gradients(const Seeds& seeds, const std::vector<Tensor>& inputs, bool create_graph,
                              SourceLocation at) {
  if (seeds.outputs.empty()) return std::vector<Tensor>(inputs.size());
  return autograd::grad(seeds.outputs, inputs, seeds.cotangents,
                        {.retain_graph = true, .create_graph = create_graph, .allow_unused = true}, at);
}

}  // namespace

std::vector<Tensor> CompiledBackward::run(std::span<const Tensor> saved, std::span<const Tensor> cotangents,
                                          SourceLocation at) const {
  const std::vector<Tensor> kept(saved.begin(), saved.end());
  const GivingBack giving(kept);
  return gradients(seeds_of(state_->outputs, cotangents, at), state_->inputs, false, at);
}

ForwardCall CompiledBackward::run_with_saved(std::span<const Tensor> saved, std::span<const Tensor> cotangents,
                                             SourceLocation at) const {
  const std::vector<Tensor> kept(saved.begin(), saved.end());
  const GivingBack giving(kept);
  std::vector<Tensor> handles(cotangents.size());
  auto next = std::make_unique<State>();
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (!cotangents[i].defined()) continue;
    handles[i] = needing_gradient(cotangents[i], at);
    next->inputs.push_back(handles[i]);
  }
  next->inputs.insert(next->inputs.end(), state_->inputs.begin(), state_->inputs.end());
  const EnableGrad recording;
  ForwardCall out;
  for (const Tensor& gradient : gradients(seeds_of(state_->outputs, handles, at), state_->inputs, true, at)) {
    const bool carries = gradient.defined() && gradient.requires_grad();
    next->outputs.push_back(carries ? gradient : Tensor());
    out.carries_gradient.push_back(carries);
    out.results.push_back(gradient.defined() ? Value(alias(gradient, at)) : Value());
  }
  out.backward.reset(new CompiledBackward(std::move(next)));
  return out;
}

ForwardCall JittedValues::call_with_saved(std::span<const Value> arguments, std::span<const Tensor> members,
                                          const std::vector<bool>& needs_gradient, SourceLocation at) const {
  auto state = std::make_unique<CompiledBackward::State>();
  size_t next = 0;
  const auto replaced = [&](const Tensor& tensor) {
    const size_t position = next++;
    if (position >= needs_gradient.size()) throw UserError("call_with_saved: needs_gradient has too few entries", at);
    if (!needs_gradient[position]) return tensor;
    state->inputs.push_back(needing_gradient(tensor, at));
    return state->inputs.back();
  };
  const std::function<Value(const Value&)> replace_in = [&](const Value& value) {
    if (value.is_tensor()) return Value(replaced(Tensor(value)));
    if (!value.is_list()) return value;
    std::vector<Value> items;
    for (const Value& item : value.list()) items.push_back(replace_in(item));
    return Value(std::move(items));
  };
  std::vector<Value> given;
  for (const Value& value : arguments) given.push_back(replace_in(value));
  std::vector<Tensor> own;
  for (const Tensor& member : members) own.push_back(replaced(member));

  ForwardCall out;
  {
    auto& saved = out.saved;
    const SavedTensorsHooks hooks(
        [&saved, &out](Tensor tensor) {
          saved.push_back(std::move(tensor));
          out.for_derivatives.push_back(autograd_modes().saves_for_derivatives);
          return saved.size() - 1;
        },
        [](size_t position) { return tensor_at(position); }, at);
    out.results = detail::call_values(*this, {given, own, at});
  }
  bool has_gradient = false;
  for (Value& result : out.results) {
    const Tensor tensor = result.is_tensor() ? Tensor(result) : Tensor();
    const bool carries = tensor.defined() && tensor.requires_grad();
    state->outputs.push_back(carries ? tensor : Tensor());
    out.carries_gradient.push_back(carries);
    has_gradient = has_gradient || carries;
    if (carries) result = Value(alias(tensor, at));
  }
  for (Tensor& tensor : out.saved) tensor = alias(tensor, at);
  if (has_gradient) out.backward.reset(new CompiledBackward(std::move(state)));
  return out;
}

}  // namespace fulgurite
