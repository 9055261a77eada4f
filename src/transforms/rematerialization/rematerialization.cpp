#include "transforms/rematerialization/rematerialization.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "ir/structural.h"
#include "support/max_flow.h"
#include "support/text/text.h"
#include "transforms/grad/exact_comparisons.h"
#include "transforms/grad/joint_trace.h"
#include "transforms/grad/kept_by_operators.h"
#include "transforms/rematerialization/copied_arguments.h"

namespace fulgurite {

namespace {

// Consecutively recomputed symbols, views excepted: everything between the last saved value and the needed one is alive
// simultaneously, so that a long chain recomputed as one would cost its time and save nothing at the peak.
constexpr int max_repeated_in_a_row = 12;
// The value of a saved byte in bytes moved, without a budget.
constexpr int64_t default_min_saving = 8;

bool is_tagged(const BoundSymbol& bound) {
  return bound.tags.has(Tag::recompute_in_backward) && is_recomputable(bound);
}
bool is_checkpoint_result(const Value& value) {
  return value.is_tensor() && value.tensor().tags.has(Tag::checkpoint_result);
}

/// The graph whose minimum cut determines the saved values. The sink's side is the backward's: a value is there because
/// it was saved (the edge from its symbol is cut) or because its symbol is there, recomputed (the edge from the source
/// is cut).
///
///   source ── repeating(symbol) ──▶ symbol ── keeping(value) ──▶ value ── unlimited ──▶ sink (a backward value)
///                                   value ── unlimited ──▶ its user symbol
class Recomputation {
 public:
  /// `may_keep`, by proxy id: of arguments and results; empty: all.
  Recomputation(const Trace& joint, const std::vector<ComparedElements>& exact_comparisons,
                const RecomputationCost& cost, const std::vector<char>& may_keep)
      : joint_(joint),
        cost_(cost),
        is_forward_(find_forward(joint)),
        producer_(joint.next_id, -1),
        is_used_(joint.next_id, false),
        root_(joint.next_id, -1),
        depth_(joint.next_id, 0),
        is_outside_(joint.next_id, false),
        inputs_(input_values(joint)),
        values_(joint.next_id),
        value_node_(joint.next_id) {
    find_outside_values();
    for (size_t i = 0; i < joint.bound_symbols.size(); ++i)
      if (is_forward_[i]) add_forward(static_cast<int>(i));
    for (size_t i = 0; i + 1 < joint.bound_symbols.size(); ++i)
      if (!is_forward_[i] && !is_get_grad(joint.bound_symbols[i]))
        for_each_use(joint.bound_symbols[i], [&](int id) { use(id); });
    for_each_leaf(keyword(joint.bound_symbols.back(), "output"), [&](const Value& gradient) {
      if (const int id = proxy_id(gradient); id >= 0) use(id);
    });
    for (const ComparedElements& compared : exact_comparisons) never_recompute(compared.elements);
    if (!may_keep.empty()) find_values_of_the_caller(may_keep);
  }

  /// The symbols to recompute at this price of a saved byte in bytes moved.
  std::vector<char> solve(int64_t min_saving) const {
    const int count = static_cast<int>(joint_.bound_symbols.size());
    constexpr int source = 0, sink = 1;
    MaxFlow graph(node_count_);
    for (int id = 0; id < joint_.next_id; ++id) {
      if (is_used_[id]) graph.add_edge(value_node_[id], sink, MaxFlow::unlimited);
      if (values_[id] && producer_[id] < 0) graph.add_edge(source, value_node_[id], price(id, min_saving));
    }
    for (int i = 0; i < count; ++i) {
      if (!is_forward_[i]) continue;
      const BoundSymbol& bound = joint_.bound_symbols[i];
      const int node = symbol_node_[i];
      graph.add_edge(source, node, repeating_[i]);
      for_each_use(bound, [&](int id) {
        if (values_[id]) graph.add_edge(value_node_[id], node, MaxFlow::unlimited);
      });
      for_each_output(bound, [&](const Value& value) {
        const int id = proxy_id(value);
        if (id < 0 || producer_[id] != i) return;
        const bool must_recompute = is_tagged(bound) && !is_checkpoint_result(value);
        // Checkpoint outputs are always saved, never rematerialized.
        const int from = is_tagged(bound) && is_checkpoint_result(value) ? source : node;
        graph.add_edge(from, value_node_[id], must_recompute ? MaxFlow::unlimited : price(id, min_saving));
      });
    }
    if (graph.run(source, sink) >= MaxFlow::unlimited)
      throw InternalError("recomputation: a value can neither be saved nor made");
    const std::vector<char> is_had = graph.sink_side(sink);
    std::vector<char> is_repeated(count, false);
    for (int i = 0; i < count; ++i) is_repeated[i] = is_forward_[i] && is_had[symbol_node_[i]];
    return is_repeated;
  }

  /// Arguments that are copied where a repeated symbol reads them, by proxy id.
  std::vector<char> copied() const {
    std::vector<char> out(values_.size(), false);
    for (size_t id = 0; id < values_.size(); ++id) out[id] = is_copied(static_cast<int>(id));
    return out;
  }

  /// Bytes that the backward keeps beside arguments and results, storages once.
  int64_t bytes_saved(const std::vector<char>& is_repeated) const {
    std::vector<char> is_needed = is_used_, is_counted(joint_.next_id, false);
    for (int i = static_cast<int>(is_repeated.size()); i-- > 0;)
      if (is_repeated[i]) for_each_use(joint_.bound_symbols[i], [&](int id) { is_needed[id] = true; });
    int64_t bytes = 0;
    for (int id = 0; id < joint_.next_id; ++id) {
      if (!is_needed[id] || !values_[id]) continue;
      const bool is_recomputed =
          producer_[id] >= 0 && is_repeated[producer_[id]] && !is_checkpoint_result(*values_[id]);
      const int root = root_[id];
      if (is_recomputed || is_outside_[root] || is_counted[root]) continue;
      is_counted[root] = true;
      bytes += cost_.keeping(*values_[root]);
    }
    return bytes;
  }

 private:
  // Arguments and results are alive anyhow; an argument that the forward overwrites must be copied.
  void find_outside_values() {
    const auto mark = [&](const Value& value) {
      if (const int id = proxy_id(value); id >= 0) is_outside_[id] = true;
    };
    for (const Value& input : inputs_) {
      mark(input);
      note(input, -1);
    }
    for_each_leaf(keyword(joint_.bound_symbols.back(), "fw_flat_out"), mark);
    for (const BoundSymbol& bound : joint_.bound_symbols)
      if (is_write(bound)) is_outside_[proxy_id(bound.args[1])] = false;
  }

  // Values that the backward reads are saved in any case.
  void find_values_of_the_caller(const std::vector<char>& may_keep) {
    std::vector<char> is_kept(joint_.next_id, false);
    for (int id = 0; id < joint_.next_id; ++id)
      if (values_[id] && (may_keep[id] || is_used_[id])) is_kept[root_[id]] = true;
    is_of_caller_.assign(joint_.next_id, false);
    for (int id = 0; id < joint_.next_id; ++id)
      is_of_caller_[id] = values_[id] && values_[id]->is_tensor() && is_outside_[id] && !is_kept[id];
  }

  void note(const Value& value, int symbol) {
    const int id = proxy_id(value);
    if (id < 0 || values_[id]) return;
    values_[id] = &value;
    producer_[id] = symbol;
    root_[id] = id;
    value_node_[id] = node_count_++;
  }

  void add_forward(int i) {
    const BoundSymbol& bound = joint_.bound_symbols[i];
    if (repeating_.empty()) {
      repeating_.assign(joint_.bound_symbols.size(), MaxFlow::unlimited);
      symbol_node_.resize(joint_.bound_symbols.size());
    }
    symbol_node_[i] = node_count_++;
    int deepest = 0;
    for_each_use(bound, [&](int id) { deepest = std::max(deepest, depth_[id]); });
    const bool is_view = bound.symbol->traits.view;
    std::optional<int64_t> cost = is_recomputable(bound) ? cost_.repeating(bound) : std::nullopt;
    if (is_tagged(bound)) cost = 0;
    else if (cost && !is_view && ++deepest > max_repeated_in_a_row) cost.reset();
    repeating_[i] = cost.value_or(MaxFlow::unlimited);
    for_each_output(bound, [&](const Value& value) {
      const int id = proxy_id(value);
      if (id < 0) return;
      note(value, i);
      depth_[id] = cost ? deepest : 0;
      if (is_view && !bound.args.empty() && bound.args[0].is_tensor()) root_[id] = root_[proxy_id(bound.args[0])];
    });
  }

  void use(int id) {
    if (values_[id]) is_used_[id] = true;
  }

  // Another kernel may recompute sums in another order, and then no element equals the selected one.
  void never_recompute(int id) {
    while (id >= 0 && producer_[id] >= 0) {
      const BoundSymbol& bound = joint_.bound_symbols[producer_[id]];
      if (is_tagged(bound)) return;
      if (!is_exact(*bound.symbol)) {
        repeating_[producer_[id]] = MaxFlow::unlimited;
        return;
      }
      id = proxy_id(bound.args[0]);
    }
  }

  bool is_copied(int id) const { return !is_of_caller_.empty() && is_of_caller_[id] && producer_[id] < 0; }

  /// The cost of keeping a value when a byte is worth so much. An argument that the caller may overwrite is copied.
  int64_t price(int id, int64_t min_saving) const {
    const int root = root_[id];
    if (!is_of_caller_.empty() && is_of_caller_[root]) {
      return is_copied(id) ? cost_.keeping(*values_[id]) * min_saving + copying(*values_[id]) : MaxFlow::unlimited;
    }
    return (is_outside_[root] ? 1 : cost_.keeping(*values_[root])) * min_saving;
  }

  const Trace& joint_;
  const RecomputationCost& cost_;
  std::vector<char> is_forward_;    // by symbol
  std::vector<int64_t> repeating_;  // by symbol
  std::vector<int> producer_;       // by proxy id: the forward symbol; -1: an argument, or nothing of the forward
  std::vector<char> is_used_;       // by proxy id: by the backward
  std::vector<int> root_;           // by proxy id: the root of its storage
  std::vector<int> depth_;          // by proxy id: repeatable symbols in a row up to it
  std::vector<char> is_outside_;    // by proxy id: alive whether saved or not
  std::vector<char> is_of_caller_;  // by proxy id: the caller may overwrite it
  std::vector<Value> inputs_;
  std::vector<const Value*> values_;           // by proxy id: of the forward
  std::vector<int> symbol_node_, value_node_;  // in the graph, by symbol and by proxy id
  int node_count_ = 2;                         // after the source and the sink
};

// If a checkpoint body is rematerialized, an extremum compared for equality with its input is rematerialized with it,
// even if it is a checkpoint output.
Trace with_extrema_recomputed(const Trace& joint, const std::vector<ComparedElements>& exact_comparisons) {
  Trace out = joint;
  for (const ComparedElements& compared : exact_comparisons) {
    if (!is_tagged(joint.bound_symbols[compared.selector])) continue;
    std::vector<Value> outputs;
    for (const Value& output : joint.bound_symbols[compared.selector].outputs) {
      outputs.push_back(output);
      if (!is_checkpoint_result(output)) continue;
      auto* recomputed = new TensorProxy(output.tensor());
      recomputed->tags.remove(Tag::checkpoint_result);
      outputs.back() = Value{detail::Ref<TensorProxy>(recomputed)};
    }
    out.bound_symbols[compared.selector].outputs = std::move(outputs);
  }
  return out;
}

std::vector<char> solve_within(const Recomputation& problem, int64_t budget) {
  std::vector<char> best = problem.solve(0);
  int64_t least = problem.bytes_saved(best);
  for (int64_t min_saving = 1; least > budget && min_saving <= int64_t{1} << 20; min_saving *= 2) {
    std::vector<char> tried = problem.solve(min_saving);
    const int64_t bytes = problem.bytes_saved(tried);
    if (bytes >= least) continue;
    least = bytes;
    best = std::move(tried);
  }
  if (least > budget)
    throw UserError(
        text::cat("memory_budget: the backward needs at least ", least, " bytes of the forward, more than the ", budget,
                  " allowed; put checkpoint() around parts of the function, so that matmuls are recomputed too"));
  return best;
}

Trace choose(const Trace& given, const RecomputationOptions& options, const RecomputationCost& cost,
             const std::vector<char>& may_keep) {
  const std::vector<ComparedElements> exact_comparisons = find_compared_elements(given);
  const Trace joint = with_extrema_recomputed(given, exact_comparisons);
  const Recomputation problem(joint, exact_comparisons, cost, may_keep);
  const std::vector<char> is_repeated =
      options.memory_budget ? solve_within(problem, *options.memory_budget) : problem.solve(default_min_saving);
  Trace out = joint;
  for (size_t i = 0; i < is_repeated.size(); ++i)
    if (is_repeated[i]) out.bound_symbols[i].tags.add(Tag::recompute_in_backward);
  if (!may_keep.empty()) copy_repeated_arguments(out, problem.copied());
  return out;
}

}  // namespace

/// Marks forward symbols of a joint trace that the backward recomputes instead of saving their results.
///
///   t0 = matmul(t_0, t_1)                   t0 = matmul(t_0, t_1)
///   t1 = gelu(t0)                           t1 = gelu(t0)                          recompute_in_backward
///   t2 = matmul(t1, t_2)             ->     t2 = matmul(t1, t_2)
///   …                                       …                                      (t0 is saved, t1 is not)
///
/// Existing tags (checkpoint) are obeyed. The saved values follow in the split: choosing and cutting are two passes.
/// Elements that are compared with one selected from them (an extremum's gradient) are never recomputed without it.
Trace choose_recomputation(const Trace& joint, const RecomputationOptions& options) {
  return choose_recomputation(joint, options, SymbolBySymbolCost());
}

Trace choose_recomputation(const Trace& given, const RecomputationOptions& options, const RecomputationCost& cost) {
  return choose(given, options, cost, {});
}

// With a budget, values that cost nothing to save are saved, even if eager mode would not.
Trace choose_recomputation(const Trace& joint, const RecomputationOptions& options, const Trace& recorded) {
  return choose(joint, options, SymbolBySymbolCost(),
                options.memory_budget ? std::vector<char>() : saved_by_operators(recorded, joint));
}

}  // namespace fulgurite
