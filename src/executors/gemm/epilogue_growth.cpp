#include "executors/gemm/epilogue_growth.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "implementation/implementation.h"
#include "ir/analysis/trace_values.h"
#include "support/text/text.h"

namespace fulgurite::fused_gemm {

namespace {

constexpr size_t max_ops = 24;
constexpr int most_apart = 16;  // lines: what is made earlier, or read later, than without the epilogue lives longer

int64_t bytes_of(const Value& value) {
  int64_t bytes = size_of(value.tensor().dtype);
  for (const Int size : value.tensor().shape) bytes *= size.hint();
  return bytes;
}

bool is_recomputed(const BoundSymbol& bound) { return bound.tags.has(Tag::recomputed); }

/// Each tensor that a line reads, once.
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

bool EpilogueGrowth::is_inside(int op) const {
  return (op >= 0 && grown_.region_of[op] == region_) || std::ranges::binary_search(ops_, op);
}

bool EpilogueGrowth::is_fusable(int op) const {
  const BoundSymbol& bound = trace_.bound_symbols[op];
  return bound.implementation != nullptr && bound.implementation->executor == "fuser" && grown_.region_of[op] < 0;
}

// Whether a value has the sizes of the product's result.
bool EpilogueGrowth::has_sizes(const Value& value) const {
  const Shape &shape = value.tensor().shape, &wanted = trace_.bound_symbols[gemm_].outputs.read()[0].tensor().shape;
  return std::ranges::equal(shape, wanted, [](const Int& a, const Int& b) { return a.hint() == b.hint(); });
}

// Sizes like that, or a row of it.
bool EpilogueGrowth::is_operand(const Value& value) const {
  if (has_sizes(value)) return true;
  const Shape &shape = value.tensor().shape, &wanted = trace_.bound_symbols[gemm_].outputs.read()[0].tensor().shape;
  if (shape.empty() || shape.size() > wanted.size() || shape.back().hint() != wanted.back().hint()) return false;
  return std::all_of(shape.begin(), shape.end() - 1, [](const Int& size) { return size.hint() == 1; });
}

bool EpilogueGrowth::is_near(int op) const {
  const auto is_near_to = [&](int other) { return std::abs(op - other) <= most_apart; };
  return is_near_to(gemm_) || std::ranges::any_of(ops_, is_near_to);
}

bool EpilogueGrowth::may_follow(int op) const {
  const BoundSymbol& bound = trace_.bound_symbols[op];
  if (is_inside(op) || !is_fusable(op) || ops_.size() == max_ops || !is_near(op)) return false;
  if (bound.outputs.size() != 1 || !bound.outputs.read()[0].is_tensor() || !has_sizes(bound.outputs.read()[0])) return false;
  // What the product itself reads is made before it.
  const auto is_own = [&](int reader) { return grown_.region_of[reader] == region_; };
  if (std::ranges::any_of(uses_.consumers(bound.outputs.read()[0].tensor().id), is_own)) return false;
  // What the backward makes again was given up before on purpose.
  if (is_recomputed(bound) && !is_recomputed(trace_.bound_symbols[gemm_]) && std::abs(op - gemm_) > most_apart) return false;
  bool fits = true;
  for_each_operand(bound, [&](const Value& value) { fits = fits && is_operand(value); });
  return fits;
}

// Whether something outside would have to run between lines that run as one here; the other regions run as one, too.
bool EpilogueGrowth::is_torn() {
  seen_.assign(trace_.bound_symbols.size(), false);
  std::vector<int> pending;
  const auto visit = [&](int op) {
    if (seen_[op]) return;
    seen_[op] = true;
    pending.push_back(op);
  };
  const auto visit_before = [&](int op) {
    for (const int before : graph_.before(op))
      if (!is_inside(before)) visit(before);
  };
  for (const int op : grown_.regions[region_].ops) visit_before(op);
  for (const int op : ops_) visit_before(op);
  while (!pending.empty()) {
    const int at = pending.back();
    pending.pop_back();
    const int other = grown_.region_of[at];
    const auto leads_inside = [&](int op) { return std::ranges::any_of(graph_.before(op), [&](int before) { return is_inside(before); }); };
    if (other < 0) {
      if (leads_inside(at)) return true;
      visit_before(at);
      continue;
    }
    for (const int together : grown_.regions[other].ops) {
      if (leads_inside(together)) return true;
      visit_before(together);
    }
  }
  return false;
}

bool EpilogueGrowth::take(int op) {
  if (!may_follow(op)) return false;
  const auto at = ops_.insert(std::ranges::upper_bound(ops_, op), op);
  if (!is_torn()) return true;
  ops_.erase(at);
  return false;
}

bool EpilogueGrowth::take_readers(const Value& value) {
  bool has_taken = false;
  for (const int reader : uses_.consumers(value.tensor().id)) has_taken = take(reader) || has_taken;
  return has_taken;
}

// What lines read that nobody else does.
bool EpilogueGrowth::take_makers() {
  bool has_taken = false;
  const std::vector<int> before = ops_;
  for (const int op : before)
    for_each_operand(trace_.bound_symbols[op], [&](const Value& value) {
      const int maker = uses_.producer(value.tensor().id);
      if (maker < 0 || is_inside(maker) || !has_sizes(value)) return;
      if (std::ranges::all_of(uses_.consumers(value.tensor().id), [&](int reader) { return is_inside(reader); })) has_taken = take(maker) || has_taken;
    });
  return has_taken;
}

// Lines that are computed from what lines here read already.
bool EpilogueGrowth::take_neighbours() {
  std::vector<int> read;
  for (const int op : ops_)
    for_each_operand(trace_.bound_symbols[op], [&](const Value& value) { read.push_back(value.tensor().id); });
  const auto is_read = [&](const Value& value) { return std::ranges::find(read, value.tensor().id) != read.end(); };
  bool has_taken = false;
  for (const int id : std::vector<int>(read))
    for (const int reader : uses_.consumers(id)) {
      bool reads_the_same = true;
      for_each_operand(trace_.bound_symbols[reader], [&](const Value& value) { reads_the_same = reads_the_same && is_read(value); });
      if (reads_the_same) has_taken = take(reader) || has_taken;
    }
  return has_taken;
}

// By way of views too.
void EpilogueGrowth::find_readers(const Value& value, std::vector<int>& ops) const {
  for (const int reader : uses_.consumers(value.tensor().id)) {
    const BoundSymbol& bound = trace_.bound_symbols[reader];
    ops.push_back(reader);
    if (bound.symbol->traits.view && !bound.outputs.empty() && bound.outputs.read()[0].is_tensor()) find_readers(bound.outputs.read()[0], ops);
  }
}

// Without the epilogue one kernel reads the product's result and what its lines read, together with lines of the fuser that follow; with it the
// lines that follow read what is stored here. What is far away is in neither.
int64_t EpilogueGrowth::bytes_spared() const {
  struct Readers {
    bool outside = false, fusable = false, others = false;
  };
  const auto readers_of = [&](const Value& value) {
    std::vector<int> ops;
    find_readers(value, ops);
    Readers readers;
    for (const int op : ops) {
      if (is_inside(op)) continue;
      readers.outside = true;
      (is_fusable(op) && is_near(op) ? readers.fusable : readers.others) = true;
    }
    return readers;
  };
  const Value& result = trace_.bound_symbols[gemm_].outputs.read()[0];
  const Readers of_product = readers_of(result);
  int64_t spared = bytes_of(result) * (1 - of_product.fusable + !of_product.outside);
  std::vector<int> read;
  for (const int op : ops_) {
    const BoundSymbol& bound = trace_.bound_symbols[op];
    const Value& value = bound.outputs.read()[0];
    const Readers readers = readers_of(value);
    spared -= bytes_of(value) * (readers.fusable + (readers.outside && !readers.others));
    for_each_operand(bound, [&](const Value& operand) {
      const int id = operand.tensor().id;
      if (is_inside(uses_.producer(id)) || !has_sizes(operand) || std::ranges::find(read, id) != read.end()) return;
      read.push_back(id);
      const auto reads_it_too = [&](int reader) { return !is_inside(reader) && is_fusable(reader) && is_near(reader); };
      if (std::ranges::any_of(uses_.consumers(id), reads_it_too)) spared -= bytes_of(operand);
    });
  }
  return spared;
}

std::optional<Epilogue> EpilogueGrowth::lowered(std::optional<Dtype> bias) {
  const auto is_used_outside = [&](const Value& value) {
    return std::ranges::any_of(uses_.consumers(value.tensor().id), [&](int reader) { return !is_inside(reader); });
  };
  codegen::EpilogueOps given;
  given.product = &trace_.bound_symbols[gemm_];
  given.bias = bias;
  given.rounds = !allow_excess_precision_;
  given.stores_gemm = is_used_outside(given.product->outputs.read()[0]);
  for (const int op : ops_) {
    given.region.ops.push_back(&trace_.bound_symbols[op]);
    const Value& value = trace_.bound_symbols[op].outputs.read()[0];
    if (is_used_outside(value)) given.region.results.push_back(value);
  }
  Epilogue epilogue{ops_, codegen::lower_epilogue(given, expressions_)};
  if (epilogue.lowered.reason.empty()) return epilogue;
  std::string refusal = text::cat(given.product->symbol->name(), " (", proxy_name(given.product->outputs.read()[0]), ") does not compute ",
                                  text::join(given.region.ops, [](const BoundSymbol* op) { return op->symbol->name(); }), ": ", epilogue.lowered.reason);
  if (std::ranges::find(refusals_, refusal) == refusals_.end()) refusals_.push_back(std::move(refusal));
  return std::nullopt;
}

std::optional<Epilogue> EpilogueGrowth::grow(int product, int region, std::optional<Dtype> bias) {
  gemm_ = product;
  region_ = region;
  ops_.clear();
  for (bool grows = take_readers(trace_.bound_symbols[product].outputs.read()[0]); grows;) {
    grows = take_makers();
    for (const int op : std::vector<int>(ops_)) grows = take_readers(trace_.bound_symbols[op].outputs.read()[0]) || grows;
  }
  if (ops_.empty()) return std::nullopt;
  const std::vector<int> alone = ops_;
  while (take_neighbours()) {}
  if (bytes_spared() > 0)
    if (auto epilogue = lowered(bias)) return epilogue;
  if (ops_ == alone) return std::nullopt;
  ops_ = alone;
  return bytes_spared() > 0 ? lowered(bias) : std::nullopt;
}

}  // namespace fulgurite::fused_gemm
