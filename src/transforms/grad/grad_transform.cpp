#include <algorithm>
#include <sstream>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ir/analysis/effects.h"
#include "ir/analysis/trace_values.h"
#include "ir/custom_function.h"
#include "ir/printing/source_lines.h"
#include "ir/substitution.h"
#include "ops/generated/symbols.h"
#include "ir/structural.h"
#include "tracing/argument_pack.h"
#include "tracing/tracer.h"
#include "transforms/grad/broadcast_shapes.h"
#include "transforms/grad/joint_rule.h"
#include "transforms/grad/zero_propagation.h"
#include "transforms/in_place.h"

namespace fulgurite {

namespace {

/// grad_transform_on_trace: differentiates a computation.
///
///   t0 = linear(t_0, t_weight, None)          t0 = linear(t_0, t_weight, None)
///   return t0                            ->   t1 = prims.get_grad(t0, 0)
///                                             t2 = reshape(t1, (-1, 10))
///                                             …
///                                             return {'output': (None, t5), 'flat_args': …, 'fw_flat_out': (t0,)}
///
/// 1. Walk the computation. A symbol without a gradient to propagate is kept. If an executor has a rule for it, the
/// rule's computation of the results replaces it, and the rest of the rule is remembered. Otherwise a symbol with its
/// own gradient rule is kept and remembered; one without is replaced by its subsymbols, which inherit its tags.
/// 2. At the return, walk the remembered symbols backward. A symbol none of whose results has a gradient is skipped.
/// Otherwise its rule records the cotangents of its arguments, which are brought to the arguments' shapes and dtypes
/// and added up by argument; an executor's rule is replayed, with the cotangents substituted for its get_grad.
/// 3. The gradients of the trace's args become the results.
class GradTransform final : public ArgumentPack::Resolver {
 public:
  GradTransform(const Trace& trace, const GradientRules& rules) : input_(trace), rules_(rules), tracer_(trace) {}

  Trace run() {
    const InterpreterScope scope(&tracer_);
    for (const BoundSymbol& bound : input_.bound_symbols)
      if (!is_return(bound)) process(bound, {});
    results_ = returned_values(input_);
    for (size_t i = 0; i < results_.size(); ++i)
      if (results_[i].is_tensor() && results_[i].tensor().requires_grad)
        slot(output_positions_, results_[i].tensor().id).push_back(static_cast<int>(i));
    for (size_t i = differentiated_.size(); i-- > 0;) {
      differentiate(differentiated_[i]);
      release_results(*differentiated_[i].bound);
    }
    return finish();
  }

  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override {
    Tensor& handle = slot(handles_, proxy->id);
    if (!handle.defined()) handle = tracer_.adopt(proxy);
    return handle;
  }

 private:
  template <class T>
  static T& slot(std::vector<T>& table, int id) {
    if (static_cast<size_t>(id) >= table.size()) table.resize(id + 1 + id / 2);
    return table[id];
  }

  static bool carries_gradient(const BoundSymbol& bound) {
    if (bound.symbol->traits.always_differentiate) return true;
    if (bound.symbol->traits.not_differentiable) return false;
    bool carries = false;
    for_each_output(bound, [&](const Value& v) { carries = carries || (v.is_tensor() && v.tensor().requires_grad); });
    return carries;
  }

  // A composite that draws: values computed from the state may be recomputed, in a backward or for a second gradient.
  static bool is_composite_draw(const BoundSymbol& bound) {
    return draws_numbers(*bound.symbol) && !bound.subsymbols.empty();
  }

  /// A symbol with a backward: its own rule, or the backward that an executor's rule recorded.
  struct Differentiated {
    const BoundSymbol* bound;
    bool is_joint = false;
    std::vector<BoundSymbol> backward = {};
  };

  void process(const BoundSymbol& bound, Tags inherited) {
    if (is_custom_function(bound)) return process_custom(bound, inherited);
    if (carries_gradient(bound) && !is_write(bound))
      if (const std::shared_ptr<const JointRule> rule = rules_.find(bound)) return process(bound, *rule, inherited);
    const bool has_rule = bound.symbol->gradient != nullptr;
    const bool is_kept = !carries_gradient(bound) && !is_composite_draw(bound);
    if (is_kept || is_write(bound) || has_rule) {
      BoundSymbol kept = bound;
      kept.tags.add(inherited);
      const bool differentiates = has_rule && carries_gradient(bound);
      tracer_.append(std::move(kept));
      if (differentiates) differentiated_.push_back({&bound});
      return;
    }
    if (bound.subsymbols.empty()) refuse(bound);
    inherited.add(bound.tags);
    for (const BoundSymbol& subsymbol : bound.subsymbols) process(subsymbol, inherited);
  }

  // The op stays unchanged, so that the forward can be differentiated again by the function's own rule.
  void process_custom(const BoundSymbol& bound, Tags inherited) {
    BoundSymbol kept = bound;
    kept.tags.add(inherited);
    tracer_.append(std::move(kept));
    if (carries_gradient(bound)) differentiated_.push_back({&bound, true, custom_backward(tracer_, bound)});
  }

  void process(const BoundSymbol& bound, const JointRule& rule, Tags tags) {
    tags.add(bound.tags);
    JointParts parts = run_joint_rule(tracer_, bound, rule, tags);
    for (BoundSymbol& symbol : parts.forward) tracer_.append(std::move(symbol));
    if (!parts.backward.empty()) differentiated_.push_back({&bound, true, std::move(parts.backward)});
  }

  [[noreturn]] void refuse(const BoundSymbol& bound) const {
    std::ostringstream op;
    op << bound;
    std::string message =
        text::cat(bound.symbol->qualified_name(), " has no gradient rule: none of the executors ", rules_.names(),
                  " has a grad transform, or an augmented forward and a backward, for this call, and the operator "
                  "has neither a rule of its own nor a decomposition:\n  ",
                  op.str());
    while (message.ends_with('\n')) message.pop_back();
    if (bound.source.line > 0) message += text::cat("\n  ", SourceLines().text(bound.source));
    throw UserError(message, bound.source);
  }

  // The cotangent of a value that backward symbols have contributed to or that the function returns; undefined if it
  // has none.
  Tensor cotangent_of(const Value& value) {
    if (!value.is_tensor()) return {};
    const int id = value.tensor().id;
    slot(is_read_, id) = true;
    Tensor total = static_cast<size_t>(id) < gradients_.size() ? gradients_[id] : Tensor();
    if (static_cast<size_t>(id) < output_positions_.size()) {
      for (const int position : output_positions_[id]) {
        const TensorProxy& proxy = value.tensor();
        const auto given = tracer_.make_proxy({proxy.shape, proxy.dtype, proxy.device}, false);
        tracer_.bind(prims_get_grad_symbol, {value, Value(position)}, {Value(given)});
        const Tensor from_outside = tracer_.adopt(given);
        total = total.defined() ? add_up(total, from_outside) : from_outside;
      }
      output_positions_[id].clear();
    }
    if (total.defined()) slot(gradients_, id) = total;
    return total;
  }

  bool has_cotangent(const Value& value) const {
    if (!value.is_tensor()) return false;
    const auto id = static_cast<size_t>(value.tensor().id);
    return (id < gradients_.size() && gradients_[id].defined()) ||
           (id < output_positions_.size() && !output_positions_[id].empty());
  }

  // Drops the handles, which are large, once all consumers have been processed. A result that is an argument is needed
  // further.
  void release_results(const BoundSymbol& bound) {
    for_each_output(bound, [&](const Value& output) {
      const auto id = static_cast<size_t>(output.proxy_id());
      if (!output.is_tensor() || id >= handles_.size()) return;
      bool is_argument = false;
      for_each_argument(
          bound, [&](const Value& argument) { is_argument = is_argument || argument.proxy_id() == output.proxy_id(); });
      if (is_argument) return;
      handles_[id] = {};
      if (id < gradients_.size()) gradients_[id] = {};
    });
  }

  void differentiate(const Differentiated& remembered) {
    const BoundSymbol* bound = remembered.bound;
    ForwardOrigin op;
    op.symbol = bound->symbol->qualified_name();
    for_each_output(*bound, [&](const Value& v) {
      if (op.id < 0 && v.is_tensor()) op = {v.tensor().id, v.tensor().name, op.symbol};
    });
    std::vector<ForwardOrigin> ops;
    ops.push_back(std::move(op));
    const ForwardOrigins origin(std::move(ops));
    tracer_.set_origin(origin);
    tracer_.set_location(bound->source);
    if (remembered.is_joint) return replay(remembered, origin);
    SmallVector<Tensor, 4> results, cotangents;
    bool any = false;
    for_each_output(*bound, [&](const Value& output) {
      results.push_back(output.is_tensor() ? tensor(output.tensor_ref()) : Tensor());
      cotangents.push_back(cotangent_of(output));
      any = any || cotangents.back().defined();
    });
    if (!any && !bound->symbol->traits.always_differentiate) return;

    const ArgumentPack pack(*bound, *this);
    Gradient rule(*bound->symbol, pack.arguments(), {results.data(), results.size()},
                  {cotangents.data(), cotangents.size()});
    const size_t first = tracer_.recorded().size();
    try {
      bound->symbol->gradient(rule);
    } catch (const RuleError& error) {
      throw InternalError(text::cat("the gradient rule of ", bound->symbol->qualified_name(), ": ", error.message));
    }
    for (BoundSymbol& recorded : tracer_.recorded().subspan(first))
      name_part(recorded, *bound, {cotangents.data(), cotangents.size()});
    for (const Gradient::Given& given : rule.given()) accumulate(pack.arguments()[given.argument], given);
  }

  // Replays the backward that an executor's rule recorded, with the cotangents that exist.
  void replay(const Differentiated& remembered, const ForwardOrigins& origin) {
    bool any = remembered.bound->symbol->traits.always_differentiate;
    for (const BoundSymbol& symbol : remembered.backward)
      any = any || (is_get_grad(symbol) && has_cotangent(symbol.args[0]));
    if (!any) return;
    ZeroValues zero_propagation;
    for (const BoundSymbol& recorded : remembered.backward) {
      if (is_get_grad(recorded)) {
        const Tensor cotangent = cotangent_of(recorded.args[0]);
        if (cotangent.defined()) replayed_.set(proxy_id(recorded.outputs[0]), tracer_.value_of(cotangent));
        else zero_propagation.add(recorded.outputs[0]);
        continue;
      }
      if (zero_propagation.is_used_by(recorded)) {
        const bool adds_nothing = is_put_grad(recorded);
        if (adds_nothing || zero_propagation.pass_through(recorded)) continue;
        make_zeros(recorded, zero_propagation);
      }
      BoundSymbol symbol = recorded;
      replayed_.apply(symbol);
      if (is_put_grad(symbol)) {
        put(*remembered.bound, symbol);
        continue;
      }
      set_origin(symbol, origin);
      tracer_.append(std::move(symbol));
    }
  }

  // Tensors for those arguments that are known to be zero.
  void make_zeros(const BoundSymbol& bound, ZeroValues& zero_propagation) {
    for_each_argument(bound, [&](const Value& value) {
      if (!zero_propagation.has(value)) return;
      const TensorProxy& proxy = value.tensor();
      tracer_.set_origin_role(ForwardOrigin::Part::zeros);
      const Tensor made = zeros(proxy.shape, {.dtype = proxy.dtype, .device = proxy.device});
      tracer_.set_origin_role(ForwardOrigin::Part::rule);
      replayed_.set(proxy.id, tracer_.value_of(made));
      zero_propagation.remove(value);
    });
  }

  static void set_origin(BoundSymbol& symbol, const ForwardOrigins& origin) {
    symbol.forward = origin;
    for (BoundSymbol& subsymbol : symbol.subsymbols) set_origin(subsymbol, origin);
  }

  void put(const BoundSymbol& bound, const BoundSymbol& put_grad) {
    const TensorProxy& target = put_grad.args[0].tensor();
    if (!is_floating(target.dtype)) return;
    if (static_cast<size_t>(target.id) < is_read_.size() && is_read_[target.id])
      throw UserError(text::cat("put_grad after get_grad on ", target.name, " in the gradient rule of ",
                                bound.symbol->qualified_name(),
                                ": the gradient was read already, so what is added now would be lost"),
                      bound.source);
    const Tensor destination = tensor(put_grad.args[0].tensor_ref());
    const Tensor cotangent = tensor(put_grad.args[1].tensor_ref());
    if (!sums_to(cotangent.shape(), destination.shape()))
      throw UserError(text::cat("the gradient rule of ", bound.symbol->qualified_name(), " gives ", target.name,
                                ", which is ", type_text(destination), ", a gradient that is ", type_text(cotangent)),
                      bound.source);
    accumulate(destination, cotangent);
  }

  // Annotates zeros in place of a cotangent, and copies, as such.
  static void name_part(BoundSymbol& recorded, const BoundSymbol& forward, std::span<const Tensor> cotangents) {
    bool is_zeros = false;
    if (recorded.symbol->semantics.fill == Fill::zero) {
      const TensorProxy& zeros = recorded.outputs[0].tensor();
      size_t result = 0;
      for_each_output(forward, [&](const Value& output) {
        if (!cotangents[result++].defined() && output.is_tensor())
          is_zeros =
              is_zeros || (output.tensor().dtype == zeros.dtype && is_same_shape(output.tensor().shape, zeros.shape));
      });
    }
    if (!is_zeros && !recorded.symbol->semantics.copy) return;
    const auto part = is_zeros ? ForwardOrigin::Part::zeros : ForwardOrigin::Part::copy;
    for (ForwardOrigin& origin : recorded.forward.change()) origin.part = part;
    for (BoundSymbol& subsymbol : recorded.subsymbols) subsymbol.forward = recorded.forward;
  }

  void accumulate(const Argument& argument, const Gradient::Given& given) {
    if (!given.cotangent.defined()) return;
    Tensor destination;
    if (argument.is_tensor()) destination = argument.tensor();
    else if (argument.kind() == Argument::Kind::tensors) destination = argument.tensors()[given.element];
    if (destination.defined() && destination.requires_grad()) accumulate(destination, given.cotangent);
  }

  void accumulate(const Tensor& destination, const Tensor& cotangent) {
    tracer_.set_origin_role(ForwardOrigin::Part::unbroadcast);
    const Tensor reduced = sum_to_shape(cotangent, destination.shape());
    tracer_.set_origin_role(ForwardOrigin::Part::cast);
    const Tensor cast =
        reduced.dtype() == destination.dtype() ? reduced : prims::convert_element_type(reduced, destination.dtype());
    Tensor& total = slot(gradients_, destination.impl()->proxy->id);
    total = total.defined() ? add_up(total, cast) : cast;
    tracer_.set_origin_role(ForwardOrigin::Part::rule);
  }

  Tensor add_up(const Tensor& total, const Tensor& more) {
    tracer_.set_origin_role(ForwardOrigin::Part::accumulation);
    Tensor sum = add(total, more);
    tracer_.set_origin_role(ForwardOrigin::Part::rule);
    return sum;
  }

  Trace finish() {
    tracer_.set_location(SourceLocation{});
    const std::vector<Value> inputs = input_values(input_);
    std::vector<Value> gradients;
    for (const Value& input : inputs) {
      if (!input.is_tensor() || !input.tensor().requires_grad) {
        gradients.emplace_back();
        continue;
      }
      // The remaining cotangent of an argument comes from its being returned unchanged.
      tracer_.set_origin({{input.tensor().id, input.tensor().name, "return"}});
      const Tensor gradient = cotangent_of(input);
      gradients.push_back(gradient.defined() ? tracer_.value_of(gradient) : Value());
    }
    tracer_.set_origin({});
    Trace joint = tracer_.finish(std::vector<Value>{});
    if (!tracer_.captures().empty()) throw InternalError("a gradient rule used a tensor from outside the trace");
    BoundSymbol& last = joint.bound_symbols.back();
    last.kwargs = {
        {"output", Value(std::move(gradients))}, {"flat_args", Value(inputs)}, {"fw_flat_out", Value(results_)}};
    joint.args = input_.args;
    joint.tags = input_.tags;
    joint.tags.add(Tag::joint);
    remove_dead_code(joint);
    return joint;
  }

  const Trace& input_;
  const GradientRules& rules_;
  Tracer tracer_;
  Substitution replayed_;  // cotangents substituted for get_grad of executors' rules
  std::vector<Value> results_;
  std::vector<Differentiated> differentiated_;
  std::vector<Tensor> handles_;                     // by proxy id
  std::vector<Tensor> gradients_;                   // by proxy id: the cotangent so far
  std::vector<char> is_read_;                       // by proxy id: it has been read, so no cotangent may be added
  std::vector<std::vector<int>> output_positions_;  // by proxy id: its positions among the outputs, until read
};

}  // namespace

Trace grad_transform_on_trace(const Trace& trace, const GradientRules& rules) {
  return GradTransform(trace, rules).run();
}

}  // namespace fulgurite
