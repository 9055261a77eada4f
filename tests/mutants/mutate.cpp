#include "mutants/mutate.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ops/generated/symbols.h"

namespace fulgurite::test {

namespace {

bool is_floating_tensor(const Value& v) { return v.is_tensor() && is_floating(v.tensor().dtype); }

/// A call's arguments are numbered through, lists opened.
std::vector<Value> leaves_of(const BoundSymbol& bound) {
  std::vector<Value> out;
  for_each_argument(bound, [&](const Value& v) { out.push_back(v); });
  return out;
}

Value with_leaf(const Value& value, size_t& next, size_t place, const Value& leaf) {
  if (!value.is_list()) return next++ == place ? leaf : value;
  std::vector<Value> items;
  for (const Value& item : value.list()) items.push_back(with_leaf(item, next, place, leaf));
  return items;
}

BoundSymbol with_leaf(BoundSymbol bound, size_t place, const Value& leaf) {
  size_t next = 0;
  for (Value& arg : bound.args) arg = with_leaf(arg, next, place, leaf);
  for (auto& [name, arg] : bound.kwargs) arg = with_leaf(arg, next, place, leaf);
  bound.subsymbols.clear();
  return bound;
}

std::string text_of(const BoundSymbol& bound) {
  std::ostringstream out;
  out << bound;
  const std::string text = out.str();
  return text.substr(0, text.find("  //"));
}

/// Operators for which the other order changes nothing.
bool is_commutative(const BoundSymbol& bound) {
  for (const char* name :
       {"torch.mul", "torch.add", "torch.eq", "torch.logical_and", "torch.logical_or", "torch.maximum"})
    if (bound.symbol->qualified_name() == name) return true;
  return false;
}

/// The same comparison, but for equal operands.
const Symbol* other_at_tie(const BoundSymbol& bound) {
  const std::pair<const char*, const char*> pairs[] = {{"lt", "le"}, {"le", "lt"}, {"gt", "ge"}, {"ge", "gt"}};
  for (const auto& [name, other] : pairs)
    if (bound.symbol == find_symbol(name)) return find_symbol(other);
  return nullptr;
}

class Mutation {
 public:
  explicit Mutation(const Trace& trace) : trace_(trace) {}

  std::vector<Mutant> run() {
    for (line_ = 0; line_ + 1 < trace_.bound_symbols.size(); ++line_) {
      const BoundSymbol& bound = trace_.bound_symbols[line_];
      if (bound.symbol->traits.structural) continue;
      change_results(bound);
      change_arguments(bound);
      change_order(bound);
      if (const Symbol* other = other_at_tie(bound)) {
        BoundSymbol changed = bound;
        changed.symbol = other;
        changed.subsymbols.clear();
        add({changed}, "made " + std::string(other->name()));
      }
    }
    change_gradients();
    return std::move(mutants_);
  }

 private:
  // A new value of another one's type.
  Value fresh(const Value& like) {
    auto* proxy = new TensorProxy(like.tensor());
    proxy->id = next_id_++;
    proxy->name = "mutant" + std::to_string(proxy->id);
    return detail::Ref<TensorProxy>(proxy);
  }

  BoundSymbol line(const Symbol& symbol, std::vector<Value> args, const Value& output) const {
    BoundSymbol bound;
    bound.symbol = &symbol;
    bound.args = std::move(args);
    bound.outputs = {output};
    return bound;
  }
  BoundSymbol negation(const Value& from, const Value& to) const { return line(neg_symbol, {from}, to); }
  BoundSymbol zeros(const Value& like, const Value& to) const { return line(mul_symbol, {like, Value(0.0)}, to); }

  void add(std::vector<BoundSymbol> lines, const std::string& what) {
    Mutant mutant;
    mutant.trace = trace_;
    mutant.trace.next_id = next_id_;
    mutant.original = {trace_.bound_symbols[line_]};
    mutant.change = "`" + text_of(mutant.original[0]) + "`: " + what;
    mutant.mistake = symbols_to(line_) + ": " + what;
    auto& all = mutant.trace.bound_symbols;
    const auto at = all.erase(all.begin() + static_cast<int64_t>(line_));
    all.insert(at, lines.begin(), lines.end());
    mutant.lines = std::move(lines);
    mutants_.push_back(std::move(mutant));
    next_id_ = trace_.next_id;
  }

  /// The path that a rule took up to an op.
  std::string symbols_to(size_t line) const {
    std::string out;
    for (size_t i = 0; i <= line; ++i) {
      const BoundSymbol& bound = trace_.bound_symbols[i];
      if (bound.symbol == &prims_unpack_sequence_symbol) continue;
      out += std::string(bound.symbol->qualified_name()) + "(";
      for (const Value& arg : bound.args)
        out += arg.is_tensor() ? "t" : arg.is_none() ? "-" : arg.is_list() ? "l" : "n";
      out += ") ";
    }
    return out;
  }

  void change_results(const BoundSymbol& bound) {
    for (size_t i = 0; i < bound.outputs.size(); ++i) {
      if (!is_floating_tensor(bound.outputs[i])) continue;
      BoundSymbol changed = bound;
      changed.subsymbols.clear();
      changed.outputs[i] = fresh(bound.outputs[i]);
      add({changed, negation(changed.outputs[i], bound.outputs[i])}, "result " + std::to_string(i) + " negated");
    }
  }

  void change_arguments(const BoundSymbol& bound) {
    const bool is_sum = bound.symbol == &add_symbol || bound.symbol == &sub_symbol;
    const std::vector<Value> leaves = leaves_of(bound);
    for (size_t place = 0; place < leaves.size(); ++place) {
      const Value& leaf = leaves[place];
      const std::string name = "argument " + std::to_string(place);
      const auto replace = [&](const Value& other, const std::string& how) {
        add({with_leaf(bound, place, other)}, name + " " + how);
      };
      if (is_floating_tensor(leaf)) {
        Value other = fresh(leaf);
        add({negation(leaf, other), with_leaf(bound, place, other)}, name + " negated");
        other = fresh(leaf);
        if (is_sum) add({zeros(leaf, other), with_leaf(bound, place, other)}, name + " dropped");
      } else if (leaf.is_bool() && !leaf.is_proxy()) {
        replace(Value(!static_cast<bool>(leaf.boolean())), "turned over");
      } else if (leaf.is_int() && !leaf.is_proxy()) {
        for (const int by : {1, -1}) replace(Value(leaf.integer() + by), by > 0 ? "one more" : "one less");
      } else if (leaf.is_float() && !leaf.is_proxy()) {
        const double number = leaf.floating();
        if (number != 0) replace(Value(-number), "negated");
        replace(Value(number == 0 ? 1.0 : 2 * number), number == 0 ? "made 1" : "doubled");
      }
      const bool has_next = place + 1 < leaves.size();
      if (has_next && leaf.is_int() && leaves[place + 1].is_int() && !leaf.is_proxy() && !(leaf == leaves[place + 1]))
        exchange(bound, leaves, place);
    }
  }

  void exchange(const BoundSymbol& bound, const std::vector<Value>& leaves, size_t place) {
    const BoundSymbol half = with_leaf(bound, place, leaves[place + 1]);
    add({with_leaf(half, place + 1, leaves[place])},
        "arguments " + std::to_string(place) + " and " + std::to_string(place + 1) + " exchanged");
  }

  // Tensors, and scalars at their positions; scalars beside them were changed one by one.
  void change_order(const BoundSymbol& bound) {
    if (is_commutative(bound)) return;
    const std::vector<Value> leaves = leaves_of(bound);
    for (size_t place = 0; place + 1 < leaves.size(); ++place) {
      const Value &first = leaves[place], &second = leaves[place + 1];
      const bool are_operands =
          (first.is_tensor() && second.is_tensor()) || (takes_operand(bound, place) && takes_operand(bound, place + 1));
      if (are_operands && !(first == second)) exchange(bound, leaves, place);
    }
  }

  static bool takes_operand(const BoundSymbol& bound, size_t place) {
    if (place >= bound.args.size() || bound.args[place].is_list()) return false;
    return bound.symbol->signature.params()[place].type == Parameter::Type::operand;
  }

  void change_gradients() {
    const BoundSymbol& last = trace_.bound_symbols.back();
    for (size_t i = 0; i < last.args.size(); ++i) {
      if (!is_floating_tensor(last.args[i])) continue;
      for (const bool is_dropped : {false, true}) {
        const Value other = fresh(last.args[i]);
        Mutant mutant;
        mutant.trace = trace_;
        mutant.trace.next_id = next_id_;
        mutant.change = "gradient " + std::to_string(i) + (is_dropped ? " dropped" : " negated");
        mutant.mistake = symbols_to(trace_.bound_symbols.size() - 1) + ": " + mutant.change;
        auto& all = mutant.trace.bound_symbols;
        all.back().args[i] = other;
        all.insert(all.end() - 1, is_dropped ? zeros(last.args[i], other) : negation(last.args[i], other));
        mutants_.push_back(std::move(mutant));
        next_id_ = trace_.next_id;
      }
    }
  }

  const Trace& trace_;
  std::vector<Mutant> mutants_;
  size_t line_ = 0;
  int next_id_ = trace_.next_id;
};

}  // namespace

std::vector<Mutant> mutants_of(const Trace& backward) { return Mutation(backward).run(); }

}  // namespace fulgurite::test
