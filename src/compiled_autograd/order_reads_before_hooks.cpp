#include "compiled_autograd/order_reads_before_hooks.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "ir/analysis/uses.h"
#include "ir/analysis/view_roots.h"

namespace fulgurite {

namespace {

// The ops that have an effect or a used result.
std::vector<char> live_ops(const Trace& trace) {
  const std::span<const BoundSymbol> ops = trace.bound_symbols.read();
  std::vector<char> is_live(ops.size()), is_needed(static_cast<size_t>(trace.next_id));
  for (size_t i = ops.size(); i-- > 0;) {
    bool live = i + 1 == ops.size() || effect_of(ops[i]) >= 0;
    for_each_output(ops[i], [&](const Value& output) {
      if (const int id = proxy_id(output); id >= 0) live = live || is_needed[static_cast<size_t>(id)] != 0;
    });
    is_live[i] = live;
    if (live) for_each_use(ops[i], [&](int id) { is_needed[static_cast<size_t>(id)] = true; });
  }
  return is_live;
}

bool makes_operand(const BoundSymbol& op, const BoundSymbol& of) {
  bool makes = false;
  for_each_output(
      op, [&](const Value& output) { for_each_use(of, [&](int id) { makes = makes || id == proxy_id(output); }); });
  return makes;
}

}  // namespace

std::vector<OpPair> order_reads_before_hooks(const CapturedBackward& captured) {
  const auto calls_one = [](const BackwardEffect& effect) { return calls_user(effect.kind); };
  if (std::ranges::none_of(captured.effects, calls_one)) return {};
  const Trace& trace = captured.trace;
  const std::span<const BoundSymbol> ops = trace.bound_symbols.read();
  const std::vector<char> is_live = live_ops(trace);
  const std::vector<int> roots = view_roots(ops, trace.next_id);
  std::vector<char> is_given(static_cast<size_t>(trace.next_id));
  for (const Value& argument : trace.args)
    if (argument.is_tensor()) is_given[static_cast<size_t>(argument.proxy_id())] = true;

  std::vector<OpPair> pairs;
  std::vector<int> reads;  // since the last hook
  int accumulation = -1;   // the previous op, if it is one
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    const BoundSymbol& op = ops[static_cast<size_t>(i)];
    const int effect = effect_of(op);
    if (effect < 0) {
      bool reads_given = false;
      for_each_argument(op, [&](const Value& value) {
        reads_given = reads_given || (value.is_tensor() &&
                                      is_given[static_cast<size_t>(roots[static_cast<size_t>(value.proxy_id())])] != 0);
      });
      if (reads_given && is_live[static_cast<size_t>(i)] && !op.symbol->traits.view) reads.push_back(i);
      accumulation = -1;
      continue;
    }
    const BackwardEffect::Kind kind = captured.effects[static_cast<size_t>(effect)].kind;
    if (kind == BackwardEffect::Kind::accumulate_grad) accumulation = i;
    if (!calls_user(kind)) continue;
    const int second = kind == BackwardEffect::Kind::post_accumulate_hook && accumulation >= 0 ? accumulation : i;
    for (const int read : reads)
      if (!makes_operand(ops[static_cast<size_t>(read)], ops[static_cast<size_t>(second)]))
        pairs.push_back({read, second});
    reads.clear();
  }
  return pairs;
}

}  // namespace fulgurite
