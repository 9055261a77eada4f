#include <algorithm>
#include <string>
#include <unordered_map>

#include <fulgurite/symbol.h>

#include "ir/analysis/effects.h"
#include "ir/analysis/uses.h"
#include "ir/substitution.h"
#include "ir/structural.h"
#include "support/text/text.h"
#include "transforms/in_place.h"

namespace fulgurite {

namespace {

// Positions of the symbols in their new order; the return stays last.
class Order {
 public:
  Order(const Trace& trace, std::span<const OpPair> pairs)
      : trace_(trace), uses_(trace), state_(trace.bound_symbols.size(), State::unseen) {
    EffectOrder effects;
    for (int i = 0; i + 1 < static_cast<int>(trace.bound_symbols.size()); ++i) {
      if (!has_effect(trace.bound_symbols[i])) continue;
      if (is_write(trace.bound_symbols[i])) {
        copies_.push_back(i);
        continue;
      }
      if (std::vector<int> before = effects.add(trace.bound_symbols[i], i); !before.empty())
        ops_before_.emplace(i, std::move(before));
    }
    last_effects_ = effects.last();
    for (const OpPair& pair : pairs) ops_before_[pair.second].push_back(pair.first);
    find_sequences();
  }

  std::vector<int> run() {
    if (trace_.bound_symbols.empty()) return {};
    const int last = static_cast<int>(trace_.bound_symbols.size()) - 1;
    for_each_use(trace_.bound_symbols[last], [&](int id) { visit(uses_.producer(id)); });
    for (int i = 0; i < last; ++i)
      if (fixes_a_number(trace_.bound_symbols[i])) visit(i);
    for (const int effect : last_effects_) visit(effect);
    // A written value may depend on the value copied to another input.
    for (const int copy : copies_) for_each_use(trace_.bound_symbols[copy], [&](int id) { visit(uses_.producer(id)); });
    for (const int copy : copies_) visit(copy);
    order_.push_back(last);
    return std::move(order_);
  }

 private:
  enum class State : char { unseen, open, done };

  // A comparison that has become a guard is not dead.
  static bool fixes_a_number(const BoundSymbol& bound) {
    const auto is_fixed = [](const NumberProxy* proxy) {
      return proxy && proxy->constraint == NumberProxy::Constraint::fixed;
    };
    for (const Value& output : bound.outputs) {
      if (output.is_bool() && is_fixed(output.boolean().proxy())) return true;
      if (output.is_int() && is_fixed(output.integer().proxy())) return true;
      if (output.is_float() && is_fixed(output.floating().proxy())) return true;
    }
    return false;
  }

  // The needed ops of a sequence are visited from its start.
  void find_sequences() {
    const int count = static_cast<int>(trace_.bound_symbols.size());
    sequence_before_.assign(count, -1);
    int sequences = 0;
    for (const BoundSymbol& bound : trace_.bound_symbols) sequences = std::max(sequences, bound.sequence);
    if (sequences == 0) return;
    std::vector<char> is_needed(trace_.next_id, false), is_live(count, false);
    for (int i = count; i-- > 0;) {
      const BoundSymbol& bound = trace_.bound_symbols[i];
      bool live = i + 1 == count || has_effect(bound) || fixes_a_number(bound);
      for_each_output(bound, [&](const Value& output) {
        if (const int id = proxy_id(output); id >= 0) live = live || is_needed[id];
      });
      is_live[i] = live;
      if (live) for_each_use(bound, [&](int id) { is_needed[id] = true; });
    }
    std::vector<int> previous(sequences + 1, -1);
    for (int i = 0; i < count; ++i) {
      const BoundSymbol& bound = trace_.bound_symbols[i];
      if (!is_live[i] || bound.sequence == 0 || is_write(bound)) continue;
      sequence_before_[i] = previous[bound.sequence];
      previous[bound.sequence] = i;
    }
  }

  void visit(int root) {
    if (root < 0) return;
    pending_.push_back(root);
    while (!pending_.empty()) {
      const int i = pending_.back();
      if (state_[i] == State::unseen) {
        state_[i] = State::open;
        // The first operand must be on top.
        const size_t first = pending_.size();
        if (const auto ops = ops_before_.find(i); ops != ops_before_.end())
          for (const int op : ops->second) push(op);
        push(sequence_before_[i]);
        for_each_use(trace_.bound_symbols[i], [&](int id) { push(uses_.producer(id)); });
        std::reverse(pending_.begin() + static_cast<int64_t>(first), pending_.end());
      } else {
        pending_.pop_back();
        if (state_[i] == State::open) order_.push_back(i);
        state_[i] = State::done;
      }
    }
  }

  void push(int i) {
    if (i >= 0 && state_[i] == State::unseen) pending_.push_back(i);
  }

  const Trace& trace_;
  Uses uses_;
  std::vector<State> state_;
  std::unordered_map<int, std::vector<int>> ops_before_;  // of those that have to wait for more than their operands
  std::vector<int> last_effects_;                         // the last ops with an effect
  std::vector<int> sequence_before_;  // the symbol of the same sequence that ran before this one; -1
  std::vector<int> copies_;           // writes into inputs: after everything else
  std::vector<int> pending_, order_;
};

// Gives every computed value of the trace a new name and id, in order of definition.
class Renaming {
 public:
  explicit Renaming(Trace& trace) : trace_(trace), renamed_(trace.next_id) {
    if (trace.numbers)
      numbers_ = std::shared_ptr<Numbers>(new Numbers, [before = trace.numbers](const Numbers* own) { delete own; });
    for (const Value& input : input_values(trace)) {
      if (proxy_id(input) < 0) continue;
      taken_.push_back(proxy_name(input));
      next_name_ += !is_named_by_place(taken_.back());
    }
    std::ranges::sort(taken_);
  }

  void run(const std::vector<int>& order) {
    if (!is_order_already(order)) {
      SharedVector<BoundSymbol> ordered;
      ordered.reserve(order.size());
      const std::span<BoundSymbol> recorded = trace_.bound_symbols.change();
      for (const int i : order) ordered.push_back(std::move(recorded[i]));
      trace_.bound_symbols = std::move(ordered);
    }
    const std::span<const BoundSymbol> symbols = trace_.bound_symbols.read();
    for (const BoundSymbol& bound : symbols) collect_ids(bound);
    std::ranges::sort(ids_);
    for (const BoundSymbol& bound : symbols) rename(bound);
    if (trace_.numbers) rename_sizes_of_arguments();
    if (!renamed_.is_empty())
      for (BoundSymbol& bound : trace_.bound_symbols) renamed_.apply(bound);
    if (trace_.numbers) keep_other_numbers();
    // Later numbering must not collide with an argument named t7.
    for (const std::string& name : taken_)
      if (is_made(name) && name.size() < 9) next_name_ = std::max(next_name_, std::stoi(name.substr(1)) + 1);
    trace_.next_name = next_name_;
  }

 private:
  bool is_order_already(const std::vector<int>& order) const {
    if (order.size() != trace_.bound_symbols.size()) return false;
    for (size_t i = 0; i < order.size(); ++i)
      if (order[i] != static_cast<int>(i)) return false;
    return true;
  }
  static bool is_argument_or_seen(const Value& value, std::vector<char>& seen) {
    const int id = proxy_id(value);
    if (id < 0 || seen[id]) return true;
    seen[id] = true;
    return false;
  }

  template <class Visit>
  void for_each_made(const BoundSymbol& bound, std::vector<char>& seen, Visit&& visit) {
    for (const BoundSymbol& subsymbol : bound.subsymbols) for_each_made(subsymbol, seen, visit);
    for_each_output(bound, [&](const Value& output) {
      if (!is_argument_or_seen(output, seen)) visit(output);
    });
  }

  void collect_ids(const BoundSymbol& bound) {
    if (seen_.empty()) seen_ = inputs();
    for_each_made(bound, seen_, [&](const Value& value) { ids_.push_back(proxy_id(value)); });
  }

  std::vector<char> inputs() const {
    std::vector<char> seen(trace_.next_id, false);
    for (const Value& input : input_values(trace_))
      if (const int id = proxy_id(input); id >= 0) seen[id] = true;
    return seen;
  }

  void rename(const BoundSymbol& bound) {
    if (renamed_seen_.empty()) renamed_seen_ = inputs();
    for_each_made(bound, renamed_seen_, [&](const Value& value) {
      const int id = ids_[next_id_++];
      if (value.is_tensor()) {
        std::string name = fresh_name(value.tensor().name);
        const bool stays = id == value.tensor().id && name == value.tensor().name && !value.tensor().numbers;
        if (stays) return;
        auto* proxy = new TensorProxy(value.tensor());
        proxy->id = id;
        proxy->name = std::move(name);
        if (proxy->numbers) {
          proxy->shape = renamed_.apply(proxy->shape);
          proxy->numbers = numbers_;
        }
        renamed_.set(value.tensor().id, Value(detail::Ref<TensorProxy>(proxy)));
      } else {
        rename_number(value, id);
      }
    });
  }

  // Symbols that are read off an argument are numbered like all others.
  void rename_sizes_of_arguments() {
    for (const Value& input : input_values(trace_)) {
      if (!input.has_symbolic_sizes()) continue;
      auto* proxy = new TensorProxy(input.tensor());
      proxy->shape = renamed_.apply(proxy->shape);
      proxy->numbers = numbers_;
      renamed_.set(proxy->id, Value(detail::Ref<TensorProxy>(proxy)));
    }
    for (Value& arg : trace_.args) arg = renamed_.apply(arg);
  }

  // Arguments; and a function that is differentiated inside a recording uses that recording's numbers.
  void keep_other_numbers() {
    for (const auto& number : *trace_.numbers)
      if (!renamed_.find(number->id)) numbers_->push_back(number);
    trace_.numbers = numbers_;
  }

  static detail::Ref<NumberProxy> ref_to(const Value& value) {
    const NumberProxy* proxy = value.is_int()     ? value.integer().proxy()
                               : value.is_float() ? value.floating().proxy()
                                                  : value.boolean().proxy();
    return detail::Ref<NumberProxy>(const_cast<NumberProxy*>(proxy));
  }

  void rename_number(const Value& value, int id) {
    const detail::Ref<NumberProxy> old = ref_to(value);
    const detail::Ref<NumberProxy> proxy(new NumberProxy(*old));
    proxy->id = id;
    for (detail::Ref<const NumberProxy>& operand : proxy->operands)
      if (const Value* renamed = operand ? renamed_.find(operand->id) : nullptr)
        operand = detail::Ref<const NumberProxy>(ref_to(*renamed).get());
    proxy->name = fresh_name(old->name);
    numbers_->push_back(proxy);
    switch (old->kind) {
      case NumberProxy::Kind::integer: renamed_.set(old->id, Int(old->integer, proxy.get())); break;
      case NumberProxy::Kind::floating: renamed_.set(old->id, Float(old->floating, proxy.get())); break;
      case NumberProxy::Kind::boolean: renamed_.set(old->id, Bool(old->integer != 0, proxy.get())); break;
    }
  }

  static bool is_made(const std::string& name) {
    return name.size() > 1 && std::string_view("tifb").find(name[0]) != std::string_view::npos &&
           std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  // t_blocks_0_wq, gradient_0. Inputs with a name of their own are counted: the first value after x is t1.
  static bool is_named_by_place(const std::string& name) {
    const size_t last = name.find_last_not_of("0123456789");
    return (name.size() > 2 && name[1] == '_') ||
           (last != std::string::npos && last + 1 < name.size() && name[last] == '_');
  }

  // Names generated by the tracer, a letter and a number, are renumbered; user-supplied names stay.
  std::string fresh_name(const std::string& old) {
    if (!is_made(old)) return old;
    std::string name;
    do name = text::cat(old[0], next_name_++);
    while (std::ranges::binary_search(taken_, name));
    return name;
  }

  Trace& trace_;
  Substitution renamed_;
  std::vector<std::string> taken_;
  std::vector<int> ids_;  // of the computed values, ascending: reassigned in the new order
  std::vector<char> seen_, renamed_seen_;
  size_t next_id_ = 0;
  int next_name_ = 0;
  using Numbers = std::vector<detail::Ref<NumberProxy>>;
  // Includes earlier values: dead ops of the trace may still refer to them.
  std::shared_ptr<Numbers> numbers_;
};

}  // namespace

/// Brings a recorded trace into an order that does not depend on how the compiler ordered the operands of an
/// expression: depth first from the results, operands from left to right. Symbols that share an effect keep the order
/// in which they ran, writes into inputs at the end. Unused symbols are dropped and values renumbered; arguments keep
/// their names.
///
///   t0 = cos(t_1)                      t0 = sin(t_0)
///   t1 = sin(t_0)                      t1 = cos(t_1)
///   t2 = exp(t0)                ->     t2 = add(t0, t1)
///   t3 = add(t1, t0)                   return t2
///   return t3
Trace canonical_order(const Trace& trace) {
  Trace out = trace;
  bring_into_canonical_order(out);
  return out;
}

void bring_into_canonical_order(Trace& trace, std::span<const OpPair> pairs) {
  const std::vector<int> order = Order(trace, pairs).run();
  Renaming(trace).run(order);
}

}  // namespace fulgurite
