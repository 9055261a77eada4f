#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/trace_values.h"
#include "ops/symbols.h"
#include "support/text.h"

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
/// 1. Backward from the end: what the forward's outputs need, and writes into inputs, is the forward; the rest is the backward.
/// 2. Symbols tagged for recomputation are put into the backward too, each once, just before the first use, after what they need
///    themselves. Draws are never repeated.
/// 3. What the backward uses of the forward is saved, unique, in order of first use: tensors in C0, numbers in C1.
class Split {
 public:
  explicit Split(const Trace& joint) : joint_(joint) {
    if (!joint.tags.has(Tag::joint)) throw InternalError("only a joint trace can be split");
    in_forward_.resize(joint.next_id);
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
    for (const Value& gradient : gradients_) use(gradient);
    return {make_forward(), make_backward()};
  }

 private:
  void need(const Value& value) {
    if (const int id = proxy_id(value); id >= 0) in_forward_[id] = true;
  }

  void separate() {
    for (const Value& output : outputs_) need(output);
    for (const Value& arg : flat_args_) need(arg);
    cotangents_.resize(outputs_.size());
    std::vector<const BoundSymbol*> forward, backward;
    for (size_t i = joint_.bound_symbols.size() - 1; i-- > 0;) {
      const BoundSymbol& bound = joint_.bound_symbols[i];
      if (bound.symbol == &prims_get_grad_symbol) {
        cotangents_[static_cast<int64_t>(bound.args[1].integer())] = bound.outputs[0];
        mark(available_, bound.outputs[0]);
        continue;
      }
      const bool is_effect = bound.forward.empty() && (bound.symbol->traits.side_effect || bound.symbol->traits.random);
      bool is_forward = is_effect;
      for_each_output(bound, [&](const Value& v) {
        if (const int id = proxy_id(v); id >= 0) is_forward = is_forward || in_forward_[id];
      });
      if (!is_forward) {
        backward.push_back(&bound);
        continue;
      }
      for_each_argument(bound, [&](const Value& v) { need(v); });
      for_each_output(bound, [&](const Value& v) {
        need(v);
        if (is_recomputed(bound, v)) recompute_[v.tensor().id] = &bound;
      });
      forward.push_back(&bound);
    }
    forward_.assign(forward.rbegin(), forward.rend());
    backward_.assign(backward.rbegin(), backward.rend());
  }

  static bool is_recomputed(const BoundSymbol& bound, const Value& output) {
    if (bound.symbol->traits.random || bound.symbol->traits.side_effect || !output.is_tensor()) return false;
    return bound.tags.has(Tag::recompute_in_backward) || output.tensor().tags.has(Tag::recompute_in_backward);
  }

  static void mark(std::vector<char>& table, const Value& value) {
    if (const int id = proxy_id(value); id >= 0) table[id] = true;
  }

  // Appends a symbol to the backward, after whatever must be recomputed for it.
  void emit(const BoundSymbol& first) {
    std::vector<std::pair<const BoundSymbol*, bool>> pending{{&first, false}};
    while (!pending.empty()) {
      const auto [bound, is_ready] = pending.back();
      pending.pop_back();
      if (is_ready) {
        for_each_argument(*bound, [&](const Value& v) { use(v); });
        if (joint_.numbers) use_numbers_inside(*bound);
        for_each_output(*bound, [&](const Value& v) { mark(available_, v); });
        body_.push_back(*bound);
        continue;
      }
      bool is_done = bound != &first;
      for_each_output(*bound, [&](const Value& v) { const int id = proxy_id(v);
        is_done = is_done && (id < 0 || available_[id]); });
      if (is_done) continue;
      pending.emplace_back(bound, true);
      std::vector<const BoundSymbol*> producers;
      for_each_argument(*bound, [&](const Value& v) {
        const int id = proxy_id(v);
        if (id >= 0 && !available_[id] && recompute_[id]) producers.push_back(recompute_[id]);
      });
      for (size_t i = producers.size(); i-- > 0;) pending.emplace_back(producers[i], false);
    }
  }

  // A use in the backward: what is not made there is saved.
  void use(const Value& value) {
    const int id = proxy_id(value);
    if (id < 0 || available_[id] || is_saved_[id]) return;
    is_saved_[id] = true;
    (value.is_tensor() ? saved_tensors_ : saved_numbers_).push_back(value);
  }

  // Sizes that a decomposition reads off its arguments are not among the composite's own.
  void use_numbers_inside(const BoundSymbol& composite) {
    for (const BoundSymbol& bound : composite.subsymbols) {
      for_each_argument(bound, [&](const Value& v) { if (!v.is_tensor()) use(v); });
      use_numbers_inside(bound);
      for_each_output(bound, [&](const Value& v) { if (!v.is_tensor()) mark(available_, v); });
    }
  }

  Trace start(std::string name) const {
    Trace trace;
    trace.name = std::move(name);
    trace.tags = joint_.tags;
    trace.tags.remove(Tag::joint);
    trace.next_id = joint_.next_id;
    trace.next_name = joint_.next_name;
    trace.numbers = joint_.numbers;
    trace.associate_forward = joint_.associate_forward;
    return trace;
  }

  // An input that the forward writes into is saved as it was.
  void clone_overwritten(Trace& forward) {
    for (const BoundSymbol* bound : forward_) {
      if (bound->symbol != &prims_copy__symbol) continue;
      const Value& written = bound->args[1];
      for (Value& saved : saved_tensors_) {
        if (!(saved == written)) continue;
        const TensorProxy& old = written.tensor();
        auto* copy = new TensorProxy(old);
        copy->id = forward.next_id++;
        copy->name = text::cat("t", forward.next_name++);
        const Value value{detail::Ref<TensorProxy>(copy)};
        BoundSymbol clone;
        clone.symbol = &clone_symbol;
        clone.args = {written};
        clone.outputs = {value};
        forward.bound_symbols.insert(forward.bound_symbols.begin(), std::move(clone));
        saved = value;
      }
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
  std::vector<char> in_forward_, available_, is_saved_;  // by proxy id
  std::vector<const BoundSymbol*> recompute_;            // by proxy id: the symbol that makes it again
  int next_id_ = 0, next_name_ = 0;
};

}  // namespace

ForwardBackwardTraces split_into_forward_and_backward(const Trace& joint) { return Split(joint).run(); }

ForwardBackwardTraces forward_and_backward_from_trace(const Trace& trace) {
  const Trace joint = grad_transform_on_trace(trace);
  return split_into_forward_and_backward(joint);
}

}  // namespace fulgurite
