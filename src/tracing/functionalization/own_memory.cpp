#include "tracing/functionalization/own_memory.h"

#include <algorithm>

#include "ir/analysis/view_roots.h"
#include "ir/custom_function.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

// A custom function may return its argument: a tensor with a history of its own in the same memory, as in eager mode.
std::vector<int> roots_outside_custom_functions(std::span<const BoundSymbol> ops, int next_id) {
  if (std::ranges::none_of(ops, is_custom_function)) return view_roots(ops, next_id);
  std::vector<BoundSymbol> others(ops.begin(), ops.end());
  std::erase_if(others, is_custom_function);
  return view_roots(others, next_id);
}

}  // namespace

OwnMemory::OwnMemory(TraceBuilder& builder)
    : builder_(builder), roots_(roots_outside_custom_functions(builder.ops(), builder.trace().next_id)) {
  for (const Value& arg : builder.trace().args)
    if (arg.is_tensor()) owners_.emplace(arg.proxy_id(), nullptr);
}

Value OwnMemory::bound(const Symbol& symbol, const detail::Ref<TensorProxy>& value) {
  const auto result = builder_.make_proxy_like(*value, value->requires_grad);
  builder_.bind(symbol, {Value(value)}, {Value(result)});
  return Value(result);
}

Value OwnMemory::of(const Value& value, const Tensor& handle, const Tensor& owner) {
  const auto id = static_cast<size_t>(value.proxy_id());
  const int root = id < roots_.size() ? roots_[id] : value.proxy_id();
  const auto [known, is_new] = owners_.emplace(root, owner.impl().get());
  if (!is_new && known->second != owner.impl().get()) return bound(clone_symbol, value.tensor_ref());
  const bool is_turned = !handle.impl()->base && handle.impl()->history > 0 && root != value.proxy_id();
  return is_turned ? bound(contiguous_symbol, value.tensor_ref()) : value;
}

}  // namespace fulgurite
