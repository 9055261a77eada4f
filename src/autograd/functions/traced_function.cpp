// A custom function called inside a recording: its forward and its backward are recorded in turn and become one op of
// the trace.
#include <algorithm>
#include <unordered_set>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/engine/modes.h"
#include "autograd/functions/function_state.h"
#include "ir/analysis/effects.h"
#include "ir/analysis/uses.h"
#include "ir/substitution.h"
#include "ops/core/autocast.h"
#include "ops/generated/symbols.h"
#include "ops/structural/custom_function_symbols.h"
#include "ops/core/recorder.h"

namespace fulgurite {

namespace {

/// A scope of a recording in which a custom function's own code records.
class BodyScope {
 public:
  BodyScope(Recorder& recorder, std::string_view name, bool records_gradients)
      : recorder_(recorder), grad_mode_(records_gradients), first_id_(recorder.reserve_ids(0)) {
    outer_ = recorder_.exchange_custom_function({text::cat("autograd::apply<", name, ">"), first_id_});
    recorder_.begin_scope();
  }
  ~BodyScope() {
    if (is_open_) close();
  }
  BodyScope(const BodyScope&) = delete;
  BodyScope& operator=(const BodyScope&) = delete;
  std::vector<BoundSymbol> close() {
    is_open_ = false;
    recorder_.exchange_custom_function(std::move(outer_));
    return recorder_.end_scope();
  }
  int first_id() const { return first_id_; }

 private:
  Recorder& recorder_;
  GradModeScope grad_mode_;
  Recorder::CustomFunction outer_;
  int first_id_;
  bool is_open_ = true;
};

class Recorded final : public FunctionState {
 public:
  Recorded(Recorder& recorder, detail::CustomFunction custom, const std::vector<Tensor>& given,
           SourceLocation called_at)
      : FunctionState(std::move(custom), given, called_at), recorder_(recorder), given_(given) {
    for (const Tensor& input : given) {
      arguments_.push_back(recorder.value_of(input));
      needs_grad.push_back(grad_enabled() && input.defined() && arguments_.back().tensor().requires_grad);
    }
  }

  std::vector<Tensor> run(const detail::CustomCall::Forward& forward) {
    if (std::ranges::none_of(needs_grad, [](char needs) { return needs != 0; })) return run_without_gradients(forward);
    record_forward(forward);
    const bool records = std::ranges::any_of(results_, [&](const Tensor& result) { return !is_constant(result); });
    name_results(records);
    if (records) {
      record_backward();
      bind();
    } else {
      for (BoundSymbol& op : forward_) recorder_.append(std::move(op));
    }
    return give_results();
  }

  std::vector<Tensor> saved_tensors() const override { return is_finished_ ? saved_ : to_save; }

 private:
  // The forward's ops are recorded as if the caller had called them: its views and writes are those of the arguments.
  std::vector<Tensor> run_without_gradients(const detail::CustomCall::Forward& forward) {
    const GradModeScope no_grad(false);
    std::vector<Tensor> results = forward(context, given_);
    check_results(given_, results);
    for (Tensor& result : results)
      if (contains(given_, result) && !is_dirty(result)) result = detach(result, at);
    return results;
  }

  // Uses values of its own, which become the arguments afterwards, so that its writes are its own too.
  void record_forward(const detail::CustomCall::Forward& forward) {
    BodyScope scope(recorder_, function.name, false);
    std::unordered_set<int> parameters;
    for (const Value& argument : arguments_) {
      taken_.emplace_back();
      if (!argument.is_tensor()) continue;
      const TensorProxy& proxy = argument.tensor();
      const auto parameter = recorder_.make_proxy({proxy.shape, proxy.dtype, proxy.device}, false);
      renamed_.set(parameter->id, argument);
      parameters.insert(parameter->id);
      taken_.back() = recorder_.adopt(parameter);
    }
    results_ = forward(context, taken_);
    check_results(taken_, results_);
    find_writes(parameters);
    find_views();
    for (const Tensor& result : results_) {
      outputs.push_back(type_of(result));
      values_.push_back(recorder_.value_of(result));
    }
    separate_results();
    forward_ = scope.close();
    hoist_draws();
    for (const Tensor& tensor : to_save) to_save_.push_back(recorder_.value_of(tensor));
  }

  // A buffer without gradient is written after the op.
  void find_writes(const std::unordered_set<int>& parameters) {
    for (size_t i = 0; i < taken_.size(); ++i) {
      if (!taken_[i].defined() || is_dirty(taken_[i])) continue;
      const Value value = recorder_.value_of(taken_[i]);
      if (parameters.contains(value.proxy_id())) continue;
      if (needs_grad[i])
        throw UserError(text::cat(function.name, ": forward() writes argument ", i, ", ", type_text(taken_[i]),
                                  "; inside a traced function it must mark_dirty() and return it"),
                        at);
      const Tensor own = clone(taken_[i]);
      written_.emplace_back(i, recorder_.value_of(own));
    }
  }

  // The argument, other result or captured tensor whose memory each result shares; undefined if there is none.
  void find_views() {
    const auto root_of = [](const Tensor& tensor) {
      const TensorImpl* impl = tensor.impl().get();
      while (impl->base) impl = impl->base.get();
      return impl;
    };
    for (const Tensor& result : results_) {
      viewed_.emplace_back();
      if (is_dirty(result)) continue;
      const TensorImpl* const root = root_of(result);
      for (size_t i = 0; i < taken_.size() && !viewed_.back().defined(); ++i)
        if (taken_[i].defined() && root_of(taken_[i]) == root) viewed_.back() = given_[i];
      if (!viewed_.back().defined() && root != result.impl().get())
        viewed_.back() = Tensor(TensorImplRef(const_cast<TensorImpl*>(root)));
    }
  }

  // A result that is an argument, another result or a captured tensor gets a value of its own.
  void separate_results() {
    std::unordered_set<int> made;
    for (const BoundSymbol& op : recorder_.recorded())
      for_each_output(op, [&](const Value& output) { made.insert(proxy_id(output)); });
    for (size_t i = 0; i < values_.size(); ++i) {
      if (made.erase(values_[i].proxy_id()) > 0) continue;
      const Tensor same = expand(results_[i], results_[i].shape());
      values_[i] = recorder_.value_of(same);
    }
  }

  // RNG is consumed once, where the function is called; values computed from the draws may be recomputed.
  void hoist_draws() {
    std::vector<BoundSymbol> kept;
    const auto take = [&](const auto& self, BoundSymbol& op) -> void {
      if (draws_numbers(*op.symbol) && op.subsymbols.empty()) return recorder_.append(std::move(op));
      const auto draws = [](const auto& inner, const BoundSymbol& bound) -> bool {
        if (draws_numbers(*bound.symbol) && bound.subsymbols.empty()) return true;
        return std::ranges::any_of(bound.subsymbols.read(),
                                   [&](const BoundSymbol& subsymbol) { return inner(inner, subsymbol); });
      };
      if (!draws(draws, op)) {
        kept.push_back(std::move(op));
        return;
      }
      for (BoundSymbol& subsymbol : op.subsymbols) self(self, subsymbol);
    };
    for (BoundSymbol& op : forward_) take(take, op);
    forward_ = std::move(kept);
  }

  // Gives results values that carry gradients, and arguments their own names.
  void name_results(bool records) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!records || is_constant(results_[i])) continue;
      const TensorProxy& proxy = values_[i].tensor();
      const Value named(recorder_.make_proxy({proxy.shape, proxy.dtype, proxy.device}, true));
      renamed_.set(proxy.id, named);
      values_[i] = named;
    }
    for (BoundSymbol& op : forward_) renamed_.apply(op);
    for (Value& value : values_) value = renamed_.apply(value);
    for (Value& value : to_save_) value = renamed_.apply(value);
    for (auto& [argument, value] : written_) value = renamed_.apply(value);
  }

  Tensor handle_of(const Value& value) const {
    return value.is_tensor() ? recorder_.adopt(value.tensor_ref()) : Tensor();
  }

  void record_backward() {
    for (const Value& value : to_save_) saved_.push_back(handle_of(value));
    is_finished_ = true;
    BodyScope scope(recorder_, function.name, !function.once_differentiable);
    const AutocastScope as_in_the_engine(std::nullopt);
    std::vector<Tensor> cotangents;
    for (size_t i = 0; i < values_.size(); ++i) {
      cotangents.emplace_back();
      if (is_constant(results_[i])) continue;
      const auto given = recorder_.make_proxy(outputs[i], true);
      recorder_.bind(prims_get_grad_symbol, {values_[i]}, {Value(given)}, at);
      cotangents.back() = recorder_.adopt(given);
    }
    std::vector<Tensor> gradients;
    if (function.backward) gradients = run_backward(std::move(cotangents));
    else gradients = refused(*std::ranges::find_if(cotangents, &Tensor::defined));
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined() || !needs_grad[i]) continue;
      const Tensor gradient = function.once_differentiable ? once(gradients[i]) : gradients[i];
      recorder_.bind(prims_put_grad_symbol, {arguments_[i], recorder_.value_of(gradient)}, {}, at);
    }
    backward_ = scope.close();
    for (BoundSymbol& op : backward_) renamed_.apply(op);
  }

  Tensor once(const Tensor& gradient) const {
    const Argument arguments[] = {gradient, function.name};
    return dispatch(prims_once_differentiable_symbol, arguments, at);
  }

  // For a function without a backward: throws if a gradient is requested.
  std::vector<Tensor> refused(const Tensor& cotangent) const {
    const std::string message = text::cat(function.name, " has no backward(): give it one, or call it under NoGrad");
    std::vector<Tensor> gradients(arguments_.size());
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!needs_grad[i]) continue;
      const Argument arguments[] = {cotangent, std::string_view(message)};
      const Tensor none = dispatch(prims_no_gradient_symbol, arguments, at);
      const Tensor total = sum(none);
      gradients[i] = expand(total, arguments_[i].tensor().shape);
    }
    return gradients;
  }

  // Binds the op: values used from outside are its arguments, and forward values that the backward uses are among its
  // results.
  void bind() {
    std::unordered_set<int> made, known;
    std::vector<Value> arguments, outputs_and_saved = values_;
    for (const Value& value : arguments_)
      if (value.is_tensor() && known.insert(value.proxy_id()).second) arguments.push_back(value);
    for (const BoundSymbol& op : forward_)
      for_each_output(op, [&](const Value& output) { made.insert(proxy_id(output)); });
    for (const auto& [argument, value] : written_) outputs_and_saved.push_back(value);
    for (const Value& value : outputs_and_saved) known.insert(value.proxy_id());
    const auto use_outside = [&](const Value& leaf) {
      const bool is_proxy = leaf.is_proxy() || leaf.is_tensor();
      if (is_proxy && !made.contains(leaf.proxy_id()) && known.insert(leaf.proxy_id()).second)
        arguments.push_back(leaf);
    };
    for (const BoundSymbol& op : forward_) for_each_argument(op, use_outside);
    const std::unordered_set<int> made_forward = made;
    for (const BoundSymbol& op : backward_) {
      for_each_argument(op, [&](const Value& leaf) {
        if (leaf.is_tensor() && made_forward.contains(leaf.proxy_id())) {
          if (known.insert(leaf.proxy_id()).second) outputs_and_saved.push_back(leaf);
        } else {
          use_outside(leaf);
        }
      });
      for_each_output(op, [&](const Value& output) { made.insert(proxy_id(output)); });
    }
    recorder_.bind(custom_function_symbol(function.name), std::move(arguments), std::move(outputs_and_saved), at);
    SharedVector<BoundSymbol> ops;
    for (BoundSymbol& op : forward_) ops.push_back(std::move(op));
    for (BoundSymbol& op : backward_) ops.push_back(std::move(op));
    recorder_.recorded().back().subsymbols = std::move(ops);
  }

  std::vector<Tensor> give_results() {
    std::vector<Tensor> out;
    for (const auto& [argument, value] : written_) prims::copy_(handle_of(value), given_[argument], at);
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto taken =
          std::ranges::find_if(taken_, [&](const Tensor& t) { return t.defined() && t.is_same(results_[i]); });
      Tensor result = handle_of(values_[i]);
      if (taken != taken_.end() && is_dirty(results_[i])) {
        const Tensor& written = given_[static_cast<size_t>(taken - taken_.begin())];
        prims::copy_(result, written, at);
        result = written;
      }
      out.push_back(std::move(result));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (!viewed_[i].defined()) continue;
      const auto other = std::ranges::find_if(results_, [&](const Tensor& t) { return t.is_same(viewed_[i]); });
      recorder_.note_function_view(
          out[i], other == results_.end() ? viewed_[i] : out[static_cast<size_t>(other - results_.begin())]);
    }
    return out;
  }

  Recorder& recorder_;
  const std::vector<Tensor>& given_;
  std::vector<Value> arguments_, values_, to_save_;  // of the call; of its results; of what it saved
  std::vector<Tensor> taken_, results_, saved_;      // forward()'s arguments and results, backward()'s saved tensors
  std::vector<Tensor> viewed_;                       // by result: see find_views()
  std::vector<std::pair<size_t, Value>> written_;    // buffers that forward() wrote, by argument: their new values
  std::vector<BoundSymbol> forward_, backward_;
  Substitution renamed_;
  bool is_finished_ = false;
};

}  // namespace

std::vector<Tensor> record_custom_function(detail::CustomFunction function, const std::vector<Tensor>& inputs,
                                           const detail::CustomCall::Forward& forward, SourceLocation at) {
  Recorder* const recorder = innermost_recorder();
  if (!recorder) throw UserError(text::cat("autograd::apply<", function.name, "> where only shapes are asked for"), at);
  return Recorded(*recorder, std::move(function), inputs, at).run(forward);
}

}  // namespace fulgurite
