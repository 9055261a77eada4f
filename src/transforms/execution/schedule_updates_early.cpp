#include "transforms/execution/schedule_updates_early.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "executors/fusion/dependency_graph.h"
#include "ir/analysis/effects.h"
#include "ir/analysis/sizes.h"
#include "ir/analysis/trace_values.h"
#include "ir/analysis/uses.h"
#include "ir/analysis/view_roots.h"
#include "ir/structural.h"
#include "runtime/plan/reuse_operand_buffers.h"

namespace fulgurite {

namespace {

constexpr int64_t max_unordered_elements = 16;  // of small values moved with an update: a step count, a rate

class UpdateScheduler {
 public:
  explicit UpdateScheduler(const Trace& trace)
      : trace_(trace),
        graph_(trace, false),
        uses_(trace),
        roots_(view_roots(trace.bound_symbols.read(), trace.next_id)),
        after_(trace.bound_symbols.size()) {
    const std::span<const BoundSymbol> ops = trace.bound_symbols.read();
    last_reader_.resize(static_cast<size_t>(trace.next_id), -1);
    destination_.resize(static_cast<size_t>(trace.next_id), -1);
    for (size_t i = 0; i < ops.size(); ++i) after_[i] = static_cast<int>(i);
    for (size_t i = 0; i < ops.size(); ++i)
      if (is_write(ops[i])) note_write(ops[i]);
    for (size_t i = 0; i < ops.size(); ++i)
      if (!is_write(ops[i]) && !ops[i].symbol->traits.structural) note_reads(ops[i], static_cast<int>(i));
  }

  Trace run() {
    const auto count = static_cast<int>(trace_.bound_symbols.size());
    for (int i = 0; i < count; ++i) {
      if (is_update(i)) move(i);
      // The tensors that it writes are unknown.
      else if (effects_of(op(i)).has(Effect::memory) && !is_write(op(i)) && !op(i).symbol->traits.structural)
        barrier_ = i;
    }
    // An op is followed by those that were waiting for it, in their order.
    std::vector<int> order(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
    std::ranges::stable_sort(order, [&](int a, int b) {
      const auto position = [&](int op) {
        return std::pair(after_[static_cast<size_t>(op)], after_[static_cast<size_t>(op)] == op ? 0 : 1);
      };
      return position(a) < position(b);
    });
    Trace out = without_symbols(trace_);
    for (const int i : order) out.bound_symbols.push_back(trace_.bound_symbols.read()[static_cast<size_t>(i)]);
    return out;
  }

 private:
  const BoundSymbol& op(int i) const { return trace_.bound_symbols.read()[static_cast<size_t>(i)]; }
  int root_of(const Value& value) const { return roots_[static_cast<size_t>(value.tensor().id)]; }

  void note_write(const BoundSymbol& write) {
    const Value &from = write.args.read()[0], &to = write.args.read()[1];
    const int made = uses_.producer(to.tensor().id);
    if (made < 0 || op(made).symbol->traits.structural)
      destination_[static_cast<size_t>(from.tensor().id)] = to.tensor().id;
  }
  // Updates of the value itself do not count: they are the ops to move.
  void note_reads(const BoundSymbol& bound, int at) {
    for_each_argument(bound, [&](const Value& value) {
      if (value.is_tensor() && !is_update_of(bound, root_of(value)))
        last_reader_[static_cast<size_t>(root_of(value))] = at;
    });
  }

  bool is_update_of(const BoundSymbol& bound, int input) const {
    bool writes = false;
    for_each_output(bound, [&](const Value& output) {
      writes = writes || (output.is_tensor() && destination_[static_cast<size_t>(output.tensor().id)] == input);
    });
    return writes;
  }

  // Returns true if an op only computes new values of inputs, which a program writes in place.
  bool is_update(int i) const {
    const BoundSymbol& bound = op(i);
    if (has_effect(bound) || !is_elementwise_update(*bound.symbol)) return false;
    bool has_outputs = false, updates = true;
    for_each_output(bound, [&](const Value& output) {
      has_outputs = true;
      updates = updates && output.is_tensor() && destination_[static_cast<size_t>(output.tensor().id)] >= 0;
    });
    return has_outputs && updates;
  }

  static bool is_small(const BoundSymbol& bound) {
    bool is_small = true;
    for_each_output(bound, [&](const Value& output) {
      is_small = is_small && output.is_tensor() && element_count(output) <= max_unordered_elements;
    });
    return is_small;
  }

  // Returns true if an op may be moved up together with `reader`: that extends the life of small values only.
  bool goes_with(int i, int reader) const {
    const BoundSymbol& bound = op(i);
    const bool is_view = bound.symbol->view != nullptr;
    if (has_effect(bound) || bound.symbol->traits.structural || (!is_view && !bound.implementation)) return false;
    if (is_small(bound)) return true;
    bool is_exclusive = true;
    for_each_output(bound, [&](const Value& output) {
      for (const int consumer : uses_.consumers(output.tensor().id)) is_exclusive = is_exclusive && consumer == reader;
    });
    return is_exclusive && (is_view || bound.symbol->traits.pointwise);
  }

  // The op after which an op may be placed, with those that move with it.
  int earliest(int i) const {
    int at = barrier_;
    for (const int before : graph_.before(i)) {
      const int stands = after_[static_cast<size_t>(before)];
      at = std::max(at, stands > at && goes_with(before, i) ? std::min(stands, earliest(before)) : stands);
    }
    return at;
  }

  void move_with_others(int i, int at) {
    if (after_[static_cast<size_t>(i)] <= at) return;
    after_[static_cast<size_t>(i)] = at;
    for (const int before : graph_.before(i)) move_with_others(before, at);
  }

  void move(int update) {
    int at = earliest(update);
    for_each_output(op(update), [&](const Value& output) {
      at = std::max(at, last_reader_[static_cast<size_t>(destination_[static_cast<size_t>(output.tensor().id)])]);
    });
    if (at < update) move_with_others(update, at);
  }

  const Trace& trace_;
  const fuser::DependencyGraph graph_;
  const Uses uses_;
  const std::vector<int> roots_;  // by proxy id
  std::vector<int> after_;        // by op: the op after which it is placed; itself if it stays
  std::vector<int> last_reader_;  // by the root's proxy id: the last op that reads it without updating it
  std::vector<int> destination_;  // by proxy id: the input that a copy_ brings it to; -1: none
  int barrier_ = 0;               // the last op that nothing may be moved across
};

}  // namespace

Trace schedule_updates_early(const Trace& trace) { return UpdateScheduler(trace).run(); }
bool has_updates(const Trace& trace) { return std::ranges::any_of(trace.bound_symbols.read(), is_write); }

}  // namespace fulgurite
