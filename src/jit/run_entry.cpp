#include <fulgurite/error.h>

#include "autograd/compiled/compiled_node.h"
#include "autograd/eager/in_place.h"
#include "jit/jit_state.h"
#include "ops/core/rules.h"
#include "ops/shape/shape_rules.h"
#include "support/text/text.h"
#include "tensor/overlap.h"

namespace fulgurite::detail {

namespace {

// Another handle for the same memory, to carry a history of its own.
Tensor alias_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return make_view(impl.storage, impl.sizes, impl.strides, impl.offset, impl.dtype);
}

// Attaches the node of the compiled backward to the results, one each: a result that is an input or an earlier result
// gets a handle of its own first.
void attach_backward(const CacheEntry& entry, std::span<const Tensor> inputs, ResultList& results) {
  const auto count = static_cast<std::ptrdiff_t>(entry.result_count);
  std::vector<Tensor> saved(std::make_move_iterator(results.begin() + count), std::make_move_iterator(results.end()));
  results.resize(entry.result_count);

  std::vector<Tensor> outputs(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!entry.carries_gradient[i]) continue;
    bool is_taken = false;
    for (const Tensor& input : inputs) is_taken = is_taken || input.is_same(results[i]);
    for (size_t j = 0; j < i && !is_taken; ++j) is_taken = results[j].is_same(results[i]);
    if (is_taken) results[i] = alias_of(results[i]);
    outputs[i] = results[i];
  }
  attach_compiled_node(inputs, outputs, std::move(saved), entry.backward, jitted_node_name, entry.forward,
                       entry.symbolic_backward);
}

// A program writes each element once, in any order.
void check_overlap(const Tensor& written) {
  const TensorImpl& impl = *written.impl();
  if (!impl.is_contiguous && may_overlap_itself(impl.sizes, impl.strides))
    throw UserError(text::cat("a jitted function writes in place into an argument or a captured tensor, ",
                              type_text(written), ": ", overlapping_write));
}

}  // namespace

void run_on(const CacheEntry& entry, std::span<const Tensor> inputs, ResultList& results) {
  for (const int input : entry.overwritten) check_overlap(inputs[static_cast<size_t>(input)]);
  entry.forward->run(inputs, results);
  if (entry.backward) attach_backward(entry, inputs, results);
}

void give_history(const Tensor& value, const Tensor& written) {
  try {
    take_history(value, written);
  } catch (const RuleError& error) {
    throw UserError(text::cat("a jitted function writes in place into an argument or a captured tensor, ",
                              type_text(written), ": ", error.message));
  }
}

namespace {

// Made by eager mode's own views, which keep the histories of both sides right.
SmallVector<Tensor, 4> shared_results(const CacheEntry& entry, const FlatArguments& flat, const ResultList& results) {
  SmallVector<Tensor, 4> made;
  for (const ReadySharedResult& shared : entry.shared) {
    const auto index = static_cast<size_t>(shared.index);
    switch (shared.of) {
      case SharedResult::Of::argument: made.push_back(shared.views.of(*flat.tensors()[index])); break;
      case SharedResult::Of::captured: made.push_back(shared.views.of(shared.captured)); break;
      case SharedResult::Of::result: made.push_back(shared.views.of(results[index])); break;
      case SharedResult::Of::shared: made.push_back(shared.views.of(made[index])); break;
    }
  }
  return made;
}

}  // namespace

void run_entry(const CacheEntry& entry, const FlatArguments& flat, CallResult& result) {
  SmallVector<Tensor, 8> inputs;
  size_t captured = 0;
  for (const RecordedInput& input : entry.inputs)
    inputs.push_back(input.leaf == RecordedInput::captured ? entry.captures[captured++] : *flat.tensors()[input.leaf]);

  for (const auto& [input, written] : entry.written)
    if (inputs[input].requires_grad() && inputs[input].is_leaf())
      throw UserError(text::cat("a jitted function writes in place into a leaf tensor that requires grad, ",
                                type_text(inputs[input]), "; wrap it in NoGrad, or write into a copy"));
  ResultList results;
  run_on(entry, {inputs.data(), inputs.size()}, results);
  for (const auto& [input, written] : entry.written) give_history(results[written], inputs[input]);

  result.rest = entry.rest;
  if (entry.symbolic) [[unlikely]] {
    result.integers = entry.integers.data();
    result.floats = entry.floats.data();
  }
  const size_t slots = entry.result_slots.size();
  bool is_direct = slots == results.size();
  for (size_t i = 0; i < slots && is_direct; ++i) is_direct = entry.result_slots[i] == static_cast<int>(i);
  if (is_direct) {
    result.tensors = std::move(results);
    return;
  }
  const SmallVector<Tensor, 4> shared = shared_results(entry, flat, results);
  result.tensors.reserve(slots);
  for (const int slot : entry.result_slots) {
    if (slot >= 0) result.tensors.push_back(results[slot]);
    else if (slot == -1) result.tensors.emplace_back();
    else result.tensors.push_back(shared[ResultPlan::shared_of_slot(slot)]);
  }
}

}  // namespace fulgurite::detail
