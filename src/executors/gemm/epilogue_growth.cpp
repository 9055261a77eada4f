#include "executors/gemm/epilogue_growth.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "implementation/implementation.h"
#include "ir/analysis/sizes.h"
#include "ir/analysis/trace_values.h"
#include "support/text/text.h"

namespace fulgurite::fused_gemm {

namespace {

constexpr size_t max_ops = 24;
// ops: values produced this much earlier, or read this much later, than without the epilogue live longer
constexpr int max_distance = 16;

bool is_recomputed(const BoundSymbol& bound) { return bound.tags.has(Tag::recomputed); }

/// Calls visit once for each tensor that an op reads.
template <class Visit>
void for_each_operand(const BoundSymbol& bound, Visit visit) {
  SmallVector<int, 8> seen;
  for_each_argument(bound, [&](const Value& value) {
    if (!value.is_tensor() || std::ranges::find(seen, value.tensor().id) != seen.end()) return;
    seen.push_back(value.tensor().id);
    visit(value);
  });
}

}  // namespace

bool EpilogueFusion::is_inside(int op) const {
  return (op >= 0 && groups_.group_of[op] == group_) || std::ranges::binary_search(ops_, op);
}

bool EpilogueFusion::is_fusable(int op) const {
  const BoundSymbol& bound = trace_.bound_symbols[op];
  return bound.implementation != nullptr && bound.implementation->executor == "fuser" && groups_.group_of[op] < 0;
}

// Returns true if a value has the sizes of the GEMM's result.
bool EpilogueFusion::has_sizes(const Value& value) const {
  const Shape &shape = value.tensor().shape, &wanted = trace_.bound_symbols[gemm_].outputs.read()[0].tensor().shape;
  return std::ranges::equal(shape, wanted, [](const Int& a, const Int& b) { return a.hint() == b.hint(); });
}

// Accepts the result's sizes, or a row of it.
bool EpilogueFusion::is_operand(const Value& value) const {
  if (has_sizes(value)) return true;
  const Shape &shape = value.tensor().shape, &wanted = trace_.bound_symbols[gemm_].outputs.read()[0].tensor().shape;
  if (shape.empty() || shape.size() > wanted.size() || shape.back().hint() != wanted.back().hint()) return false;
  return std::all_of(shape.begin(), shape.end() - 1, [](const Int& size) { return size.hint() == 1; });
}

bool EpilogueFusion::is_near(int op) const {
  const auto is_near_to = [&](int other) { return std::abs(op - other) <= max_distance; };
  return is_near_to(gemm_) || std::ranges::any_of(ops_, is_near_to);
}

bool EpilogueFusion::may_follow(int op) const {
  const BoundSymbol& bound = trace_.bound_symbols[op];
  if (is_inside(op) || !is_fusable(op) || ops_.size() == max_ops || !is_near(op)) return false;
  if (bound.outputs.size() != 1 || !bound.outputs.read()[0].is_tensor() || !has_sizes(bound.outputs.read()[0]))
    return false;
  // The GEMM's own operands are produced before it.
  const auto is_own = [&](int consumer) { return groups_.group_of[consumer] == group_; };
  if (std::ranges::any_of(uses_.consumers(bound.outputs.read()[0].tensor().id), is_own)) return false;
  // Fusing recomputed ops with a much earlier GEMM would undo rematerialization.
  if (is_recomputed(bound) && !is_recomputed(trace_.bound_symbols[gemm_]) && std::abs(op - gemm_) > max_distance)
    return false;
  bool fits = true;
  for_each_operand(bound, [&](const Value& value) { fits = fits && is_operand(value); });
  return fits;
}

bool EpilogueFusion::take(int op) {
  if (!may_follow(op) || !parts_.are_convex(parts_.group_of(op), parts_.group_of(gemm_))) return false;
  merges_.push_back(parts_.merge(parts_.group_of(op), parts_.group_of(gemm_)));
  parts_.keep(merges_.back());
  taken_.push_back(op);
  ops_.insert(std::ranges::upper_bound(ops_, op), op);
  return true;
}

void EpilogueFusion::take_back(size_t remaining) {
  for (; taken_.size() > remaining; taken_.pop_back(), merges_.pop_back()) {
    parts_.undo(std::move(merges_.back()));
    ops_.erase(std::ranges::lower_bound(ops_, taken_.back()));
  }
}

bool EpilogueFusion::absorb_consumers(const Value& value) {
  bool has_taken = false;
  for (const int consumer : uses_.consumers(value.tensor().id)) has_taken = take(consumer) || has_taken;
  return has_taken;
}

// Adds producers of operands without other consumers.
bool EpilogueFusion::absorb_producers() {
  bool has_taken = false;
  const std::vector<int> before = ops_;
  for (const int op : before)
    for_each_operand(trace_.bound_symbols[op], [&](const Value& value) {
      const int producer = uses_.producer(value.tensor().id);
      if (producer < 0 || is_inside(producer) || !has_sizes(value)) return;
      if (std::ranges::all_of(uses_.consumers(value.tensor().id), [&](int consumer) { return is_inside(consumer); }))
        has_taken = take(producer) || has_taken;
    });
  return has_taken;
}

// Adds ops that read only what ops of the group read already.
bool EpilogueFusion::absorb_siblings() {
  std::vector<int> read;
  for (const int op : ops_)
    for_each_operand(trace_.bound_symbols[op], [&](const Value& value) { read.push_back(value.tensor().id); });
  const auto is_read = [&](const Value& value) { return std::ranges::find(read, value.tensor().id) != read.end(); };
  bool has_taken = false;
  for (const int id : std::vector<int>(read))
    for (const int consumer : uses_.consumers(id)) {
      bool reads_the_same = true;
      for_each_operand(trace_.bound_symbols[consumer],
                       [&](const Value& value) { reads_the_same = reads_the_same && is_read(value); });
      if (reads_the_same) has_taken = take(consumer) || has_taken;
    }
  return has_taken;
}

// Includes consumers through views.
void EpilogueFusion::find_consumers(const Value& value, std::vector<int>& ops) const {
  for (const int consumer : uses_.consumers(value.tensor().id)) {
    const BoundSymbol& bound = trace_.bound_symbols[consumer];
    ops.push_back(consumer);
    if (bound.symbol->traits.view && !bound.outputs.empty() && bound.outputs.read()[0].is_tensor())
      find_consumers(bound.outputs.read()[0], ops);
  }
}

// Without the epilogue one kernel reads the GEMM's result and the ops' operands, together with later ops of the fuser;
// with it the later ops read what is stored here. Ops far away are in neither.
int64_t EpilogueFusion::bytes_spared() const {
  struct Consumers {
    bool outside = false, fusable = false, others = false;
  };
  const auto consumers_of = [&](const Value& value) {
    std::vector<int> ops;
    find_consumers(value, ops);
    Consumers consumers;
    for (const int op : ops) {
      if (is_inside(op)) continue;
      consumers.outside = true;
      (is_fusable(op) && is_near(op) ? consumers.fusable : consumers.others) = true;
    }
    return consumers;
  };
  const Value& result = trace_.bound_symbols[gemm_].outputs.read()[0];
  const Consumers of_product = consumers_of(result);
  int64_t spared = bytes_of(result) * (1 - of_product.fusable + !of_product.outside);
  std::vector<int> read;
  for (const int op : ops_) {
    const BoundSymbol& bound = trace_.bound_symbols[op];
    const Value& value = bound.outputs.read()[0];
    const Consumers consumers = consumers_of(value);
    spared -= bytes_of(value) * (consumers.fusable + (consumers.outside && !consumers.others));
    for_each_operand(bound, [&](const Value& operand) {
      const int id = operand.tensor().id;
      if (is_inside(uses_.producer(id)) || !has_sizes(operand) || std::ranges::find(read, id) != read.end()) return;
      read.push_back(id);
      const auto reads_it_too = [&](int consumer) {
        return !is_inside(consumer) && is_fusable(consumer) && is_near(consumer);
      };
      if (std::ranges::any_of(uses_.consumers(id), reads_it_too)) spared -= bytes_of(operand);
    });
  }
  return spared;
}

std::optional<Epilogue> EpilogueFusion::lowered(std::optional<Dtype> bias) {
  const auto is_used_outside = [&](const Value& value) {
    return std::ranges::any_of(uses_.consumers(value.tensor().id), [&](int consumer) { return !is_inside(consumer); });
  };
  codegen::EpilogueOps given;
  given.gemm = &trace_.bound_symbols[gemm_];
  given.bias = bias;
  given.rounds = !allow_excess_precision_;
  given.stores_gemm = is_used_outside(given.gemm->outputs.read()[0]);
  for (const int op : ops_) {
    given.loop_nest.ops.push_back(&trace_.bound_symbols[op]);
    const Value& value = trace_.bound_symbols[op].outputs.read()[0];
    if (is_used_outside(value)) given.loop_nest.results.push_back(value);
  }
  Epilogue epilogue{ops_, codegen::lower_epilogue(given, expressions_)};
  if (epilogue.lowered.reason.empty()) return epilogue;
  std::string missed_reason =
      text::cat(given.gemm->symbol->name(), " (", proxy_name(given.gemm->outputs.read()[0]), ") does not compute ",
                text::join(given.loop_nest.ops, [](const BoundSymbol* op) { return op->symbol->name(); }), ": ",
                epilogue.lowered.reason);
  if (std::ranges::find(missed_fusions_, missed_reason) == missed_fusions_.end())
    missed_fusions_.push_back(std::move(missed_reason));
  return std::nullopt;
}

std::optional<Epilogue> EpilogueFusion::grow(int gemm, int group, std::optional<Dtype> bias) {
  gemm_ = gemm;
  group_ = group;
  ops_.clear();
  merges_.clear();
  taken_.clear();
  for (bool grows = absorb_consumers(trace_.bound_symbols[gemm].outputs.read()[0]); grows;) {
    grows = absorb_producers();
    for (const int op : std::vector<int>(ops_))
      grows = absorb_consumers(trace_.bound_symbols[op].outputs.read()[0]) || grows;
  }
  if (ops_.empty()) return std::nullopt;
  const size_t alone = taken_.size();
  while (absorb_siblings()) {
  }
  std::optional<Epilogue> epilogue = profitable(bias);
  if (!epilogue && taken_.size() > alone) {
    take_back(alone);
    epilogue = profitable(bias);
  }
  if (!epilogue) take_back(0);
  return epilogue;
}

std::optional<Epilogue> EpilogueFusion::profitable(std::optional<Dtype> bias) {
  return bytes_spared() > 0 ? lowered(bias) : std::nullopt;
}

}  // namespace fulgurite::fused_gemm
