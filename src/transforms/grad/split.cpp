#include <algorithm>
#include <optional>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/effects.h"
#include "ir/analysis/trace_values.h"
#include "ir/analysis/view_roots.h"
#include "ir/substitution.h"
#include "ops/generated/symbols.h"
#include "ir/structural.h"
#include "support/text/text.h"
#include "transforms/grad/associate_forward.h"
#include "transforms/grad/joint_trace.h"

namespace fulgurite {

namespace {

/// split_into_forward_and_backward: cuts a joint trace in two.
///
///   t0 = linear(t_0, t_weight, None)          augmented_forward_fn(t_0, t_weight):
///   t1 = prims.get_grad(t0, 0)                  t0 = linear(t_0, t_weight, None)
///   t2 = reshape(t1, (-1, 10))           ->     return {…}, ((t_0,), ())
///   …                                         backward_fn(saved_for_backward, cotangents):
///                                               C0, _, = saved_for_backward
///                                               t1, = cotangents
///                                               t2 = reshape(t1, (-1, 10))
///                                               …
///
/// 1. Backward from the end: dependencies of the forward's outputs, and writes into inputs, are the forward; the rest
/// is the backward.
/// 2. Symbols tagged for recomputation are put into the backward too, each once, just before the first use, after their
/// own dependencies. Draws are never repeated, and checkpoint outputs are saved.
/// 3. The forward values that the backward uses are saved, unique, in order of first use: tensors in C0, scalars in C1.
/// They are followed by the states of draws (16 bytes each) that values with gradients depend on: differentiating the
/// backward recomputes these.
class Split {
 public:
  explicit Split(const Trace& joint) : joint_(joint) {
    next_id_ = joint.next_id;
    next_name_ = joint.next_name;
    available_.resize(joint.next_id);
    recompute_.resize(joint.next_id);
    is_saved_.resize(joint.next_id);
  }

  ForwardBackwardTraces run() {
    const BoundSymbol& last = joint_.bound_symbols.back();
    outputs_ = keyword(last, "fw_flat_out").list();
    flat_args_ = keyword(last, "flat_args").list();
    gradients_ = keyword(last, "output").list();
    separate();
    for (const BoundSymbol* bound : backward_) emit(*bound);
    for (const Value& gradient : gradients_) {
      recompute_producer(gradient);
      use(gradient);
    }
    keep_random_draws();
    return {make_forward(), make_backward()};
  }

 private:
  void separate() {
    const std::vector<char> is_forward = find_forward(joint_);
    cotangents_.resize(outputs_.size());
    for (size_t i = 0; i + 1 < joint_.bound_symbols.size(); ++i) {
      const BoundSymbol& bound = joint_.bound_symbols[i];
      if (is_get_grad(bound)) {
        cotangents_[static_cast<int64_t>(bound.args[1].integer())] = bound.outputs[0];
        mark(available_, bound.outputs[0]);
      } else if (!is_forward[i]) {
        backward_.push_back(&bound);
      } else {
        forward_.push_back(&bound);
        for_each_output(bound, [&](const Value& v) {
          if (is_recomputed(bound, v)) recompute_[v.tensor().id] = &bound;
        });
      }
    }
  }

  static bool is_recomputed(const BoundSymbol& bound, const Value& output) {
    if (!is_recomputable(bound) || !output.is_tensor() || output.tensor().tags.has(Tag::checkpoint_result))
      return false;
    return bound.tags.has(Tag::recompute_in_backward) || output.tensor().tags.has(Tag::recompute_in_backward);
  }

  static void mark(std::vector<char>& table, const Value& value) {
    if (const int id = proxy_id(value); id >= 0) table[id] = true;
  }

  // Appends a symbol to the backward, after whatever must be repeated for it.
  void emit(const BoundSymbol& bound) {
    for_each_argument(bound, [&](const Value& v) { recompute_producer(v); });
    for_each_argument(bound, [&](const Value& v) { use(v); });
    if (joint_.numbers) use_numbers_inside(bound);
    for_each_output(bound, [&](const Value& v) { mark(available_, v); });
    body_.push_back(bound);
  }

  const BoundSymbol* producer_to_recompute(const Value& value) const {
    const int id = proxy_id(value);
    return id < 0 || available_[id] || is_saved_[id] ? nullptr : recompute_[id];
  }

  // In dependency order, each symbol once.
  void recompute_producer(const Value& value) {
    std::vector<std::pair<const BoundSymbol*, bool>> pending;
    if (const BoundSymbol* producer = producer_to_recompute(value)) pending.emplace_back(producer, false);
    while (!pending.empty()) {
      const BoundSymbol* const bound = pending.back().first;
      const bool is_ready = pending.back().second;
      pending.pop_back();
      if (is_ready) {
        repeat(*bound);
        continue;
      }
      bool is_wanted = false;
      for_each_output(*bound, [&](const Value& v) { is_wanted = is_wanted || producer_to_recompute(v) == bound; });
      if (!is_wanted) continue;
      pending.emplace_back(bound, true);
      const size_t first = pending.size();
      for_each_argument(*bound, [&](const Value& v) {
        if (const BoundSymbol* producer = producer_to_recompute(v)) pending.emplace_back(producer, false);
      });
      std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(first), pending.end());
    }
  }

  // A result that the backward already has, because it is saved, gets a fresh, unused name in the recomputation.
  void repeat(const BoundSymbol& bound) {
    for_each_argument(bound, [&](const Value& v) { use(v); });
    if (joint_.numbers) use_numbers_inside(bound);
    BoundSymbol& repeated = body_.emplace_back(bound);
    repeated.tags.add(Tag::recomputed);
    std::optional<Substitution> unused_results;  // a table of all ids, and rarely needed
    for (const Value& output : bound.outputs) {
      if (!output.is_tensor()) continue;
      if (producer_to_recompute(output) == &bound) {
        mark(available_, output);
        continue;
      }
      auto* unused = new TensorProxy(output.tensor());
      unused->id = next_id_++;
      unused->name = text::cat("t", next_name_++);
      if (!unused_results) unused_results.emplace(next_id_);
      unused_results->set(output.tensor().id, Value{detail::Ref<TensorProxy>(unused)});
    }
    if (unused_results) unused_results->apply(repeated);
    repeated.forward = {recomputation_of(bound)};
  }

  // A use in the backward: a value that is not computed there is saved.
  void use(const Value& value) {
    const int id = proxy_id(value);
    if (id < 0 || available_[id] || is_saved_[id]) return;
    is_saved_[id] = true;
    (value.is_tensor() ? saved_tensors_ : saved_numbers_).push_back(value);
  }

  void keep_random_draws() {
    std::vector<char> is_needed(joint_.next_id);
    std::vector<const Value*> draws;
    for (size_t i = forward_.size(); i-- > 0;) {
      const BoundSymbol& bound = *forward_[i];
      bool makes_needed = false;
      for_each_output(bound, [&](const Value& v) {
        const int id = proxy_id(v);
        makes_needed = makes_needed || (id >= 0 && is_needed[id]) || (v.is_tensor() && v.tensor().requires_grad);
      });
      if (!makes_needed) continue;
      for_each_argument(bound, [&](const Value& v) { mark(is_needed, v); });
      if (draws_numbers(*bound.symbol)) draws.push_back(&bound.outputs[0]);
    }
    for (size_t i = draws.size(); i-- > 0;) use(*draws[i]);
  }

  // Sizes that a decomposition reads off its arguments are not among the composite's own.
  void use_numbers_inside(const BoundSymbol& composite) {
    for (const BoundSymbol& bound : composite.subsymbols) {
      for_each_argument(bound, [&](const Value& v) {
        if (!v.is_tensor()) use(v);
      });
      use_numbers_inside(bound);
      for_each_output(bound, [&](const Value& v) {
        if (!v.is_tensor()) mark(available_, v);
      });
    }
  }

  Trace start(std::string name) const {
    Trace trace;
    trace.name = std::move(name);
    trace.tags = joint_.tags;
    trace.tags.remove(Tag::joint);
    trace.next_id = next_id_;
    trace.next_name = next_name_;
    trace.numbers = joint_.numbers;
    trace.associate_forward = joint_.associate_forward;
    return trace;
  }

  // Saved values that alias an input that the forward writes into are cloned before the write.
  void clone_overwritten(Trace& forward) {
    std::vector<char> is_overwritten(joint_.next_id, false);
    size_t first_write = forward_.size();
    for (size_t i = forward_.size(); i-- > 0;) {
      if (!is_write(*forward_[i])) continue;
      is_overwritten[forward_[i]->args[1].proxy_id()] = true;
      first_write = i;
    }
    if (first_write == forward_.size()) return;
    const std::vector<int> roots = view_roots(joint_.bound_symbols.read(), joint_.next_id);
    for (Value& saved : saved_tensors_) {
      if (!is_overwritten[roots[saved.proxy_id()]]) continue;
      auto* copy = new TensorProxy(saved.tensor());
      copy->id = forward.next_id++;
      copy->name = text::cat("t", forward.next_name++);
      const Value value{detail::Ref<TensorProxy>(copy)};
      BoundSymbol clone;
      clone.symbol = &clone_symbol;
      clone.args = {saved};
      clone.outputs = {value};
      forward.bound_symbols.insert(forward.bound_symbols.begin() + static_cast<std::ptrdiff_t>(first_write++),
                                   std::move(clone));
      saved = value;
    }
  }

  Trace make_forward() {
    Trace forward = start("augmented_forward_fn");
    forward.args = joint_.args;
    forward.tags.add(Tag::augmented_forward);
    forward.bound_symbols.reserve(forward_.size() + 1);
    for (const BoundSymbol* bound : forward_) forward.bound_symbols.push_back(*bound);
    const std::vector<Value> backward_names = saved_tensors_;
    clone_overwritten(forward);
    BoundSymbol last;
    last.symbol = &prims_return_symbol;
    last.kwargs = {{"output", outputs_.size() == 1 ? outputs_[0] : Value(outputs_)},
                   {"flat_args", Value(flat_args_)},
                   {"flat_output", Value(outputs_)},
                   {"saved_tensors", Value(saved_tensors_)},
                   {"saved_other", Value(saved_numbers_)}};
    forward.bound_symbols.push_back(std::move(last));
    next_id_ = forward.next_id;
    next_name_ = forward.next_name;
    saved_tensors_ = backward_names;
    return forward;
  }

  Trace make_backward() {
    Trace backward = start("backward_fn");
    backward.next_id = next_id_;
    backward.next_name = next_name_;
    backward.tags.add(Tag::backward);
    const Value tensors = Value::collection("C0", saved_tensors_), numbers = Value::collection("C1", saved_numbers_);
    const Value saved = Value::collection("saved_for_backward", {tensors, numbers});
    const Value cotangents = Value::collection("cotangents", cotangents_);
    backward.args = {saved, cotangents};
    const auto unpack = [&](const Value& collection, std::vector<Value> items) {
      BoundSymbol bound;
      bound.symbol = &prims_unpack_sequence_symbol;
      bound.args = {collection};
      bound.outputs = std::move(items);
      backward.bound_symbols.push_back(std::move(bound));
    };
    unpack(saved, {tensors, numbers});
    unpack(cotangents, cotangents_);
    if (!saved_tensors_.empty()) unpack(tensors, saved_tensors_);
    if (!saved_numbers_.empty()) unpack(numbers, saved_numbers_);
    for (BoundSymbol& bound : body_) backward.bound_symbols.push_back(std::move(bound));
    BoundSymbol last;
    last.symbol = &prims_return_symbol;
    last.args = gradients_;
    backward.bound_symbols.push_back(std::move(last));
    return backward;
  }

  const Trace& joint_;
  std::vector<Value> outputs_, flat_args_, gradients_, cotangents_;
  std::vector<const BoundSymbol*> forward_, backward_;
  std::vector<BoundSymbol> body_;
  std::vector<Value> saved_tensors_, saved_numbers_;
  std::vector<char> available_, is_saved_;     // by proxy id
  std::vector<const BoundSymbol*> recompute_;  // by proxy id: the symbol that recomputes it
  int next_id_ = 0, next_name_ = 0;
};

}  // namespace

ForwardBackwardTraces split_into_forward_and_backward(const Trace& joint) { return Split(joint).run(); }

ForwardBackwardTraces forward_and_backward_from_trace(const Trace& trace) {
  const Trace joint = grad_transform_on_trace(trace);
  return split_into_forward_and_backward(joint);
}

}  // namespace fulgurite
