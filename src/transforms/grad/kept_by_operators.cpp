#include "transforms/grad/kept_by_operators.h"

#include "ir/analysis/uses.h"
#include "ir/structural.h"
#include "transforms/grad/joint_trace.h"

namespace fulgurite {

namespace {

// Notes the recorded op that produces each value, itself or in its subsymbols.
void note_makers(const BoundSymbol& bound, int op, std::vector<int>& maker) {
  for_each_output(bound, [&](const Value& value) {
    if (const int id = proxy_id(value); id >= 0 && maker[id] < 0) maker[id] = op;
  });
  for (const BoundSymbol& part : bound.subsymbols) note_makers(part, op, maker);
}

void mark_tensors(const BoundSymbol& bound, std::vector<char>& marked) {
  const auto mark = [&](const Value& value) {
    if (value.is_tensor()) marked[value.proxy_id()] = true;
  };
  for_each_argument(bound, mark);
  for_each_output(bound, mark);
}

}  // namespace

namespace {

// A parameter converted for autocasting is converted again rather than saved: it has its own storage in every step.
void keep_converted_parameters(const Trace& recorded, std::vector<char>& kept) {
  std::vector<char> is_argument(kept.size(), false);
  for (const Value& input : input_values(recorded))
    if (input.is_tensor() && input.tensor().requires_grad) is_argument[input.proxy_id()] = true;
  for (const BoundSymbol& bound : recorded.bound_symbols.read()) {
    if (!bound.symbol->traits.pointwise || bound.args.empty() || !bound.args[0].is_tensor() ||
        bound.outputs.size() != 1)
      continue;
    const bool is_conversion = bound.args.size() == 2 && bound.args[1].is_dtype() && bound.outputs[0].is_tensor();
    if (is_conversion && is_argument[bound.args[0].proxy_id()]) kept[bound.args[0].proxy_id()] = true;
  }
}

// Codes are saved rather than the numbers that they stand for.
void keep_codes(const Trace& recorded, std::vector<char>& kept) {
  for (const BoundSymbol& bound : recorded.bound_symbols.read())
    if (bound.symbol->semantics.dequantization) mark_tensors(bound, kept);
}

}  // namespace

std::vector<char> saved_by_operators(const Trace& recorded, const Trace& joint) {
  const std::span<const BoundSymbol> ops = recorded.bound_symbols.read(), all = joint.bound_symbols.read();
  const std::vector<char> is_forward = find_forward(joint);
  std::vector<int> maker(joint.next_id, -1);
  for (size_t i = 0; i < ops.size(); ++i) note_makers(ops[i], static_cast<int>(i), maker);
  std::vector<char> is_of_forward(joint.next_id, false), kept(joint.next_id, false), keeps(ops.size(), false);
  for (const Value& input : input_values(joint))
    if (input.is_tensor()) is_of_forward[input.proxy_id()] = true;
  for (size_t i = 0; i < all.size(); ++i)
    if (is_forward[i]) mark_tensors(all[i], is_of_forward);

  for (size_t i = 0; i + 1 < all.size(); ++i) {
    // Recomputed ops need their operands.
    if (is_forward[i] && all[i].tags.has(Tag::recompute_in_backward)) mark_tensors(all[i], kept);
    if (is_forward[i] || is_get_grad(all[i])) continue;
    bool reads = false;
    for_each_use(all[i], [&](int id) {
      if (!is_of_forward[id]) return;
      reads = true;
      kept[id] = true;
    });
    if (!reads) continue;
    for (const ForwardOrigin& origin : all[i].forward)
      if (origin.id >= 0 && maker[origin.id] >= 0) keeps[maker[origin.id]] = true;
  }
  for (size_t i = 0; i < ops.size(); ++i)
    if (keeps[i]) mark_tensors(ops[i], kept);
  keep_converted_parameters(recorded, kept);
  keep_codes(recorded, kept);
  return kept;
}

}  // namespace fulgurite
