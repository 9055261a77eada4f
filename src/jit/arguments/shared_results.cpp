#include "jit/arguments/shared_results.h"

#include <algorithm>

#include "ops/core/dispatch.h"
#include "tracing/grad_mode.h"
#include "tracing/functionalization/own_memory.h"
#include "tracing/tracer.h"

namespace fulgurite::detail {

namespace {

/// In each dimension of a contiguous tensor the first and the last index that a view reaches.
using Box = SmallVector<std::pair<int64_t, int64_t>, 6>;

/// The box of a view that selects a range of each dimension; none if it mixes dimensions.
std::optional<Box> box_of(const Shape& root, const ViewGeometry& view) {
  Sizes sizes;
  for (const Int size : root) sizes.push_back(size.hint());
  if (std::ranges::count(sizes, 0) > 0) return std::nullopt;
  const Sizes strides = contiguous_strides(sizes);
  Box box;
  int64_t offset = view.offset;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t start = offset / strides[d];
    offset -= start * strides[d];
    box.push_back({start, start});
  }
  for (size_t k = 0; k < view.sizes.size(); ++k) {
    if (view.sizes[k] == 0) return std::nullopt;
    if (view.sizes[k] == 1 || view.strides[k] == 0) continue;
    size_t d = 0;
    while (d < sizes.size() && (sizes[d] == 1 || view.strides[k] % strides[d] != 0)) ++d;
    if (d == sizes.size()) return std::nullopt;
    box[d].second += view.strides[k] / strides[d] * (view.sizes[k] - 1);
    if (box[d].second >= sizes[d]) return std::nullopt;
  }
  return box;
}

class Planner {
 public:
  Planner(Tracer& tracer, const std::unordered_map<const TensorImpl*, int>& flat, std::vector<Value>& values)
      : tracer_(tracer), flat_(flat), values_(values), memory_(tracer.builder()) {}

  ResultPlan run(const std::vector<Tensor>& results) {
    for (const Tensor& result : results) add(result);
    const size_t count = entries_.size();
    for (size_t i = 0; i < count; ++i) groups_[entries_[i].position.root.impl().get()].push_back(i);
    for (size_t i = 0; i < count; ++i) position(i);
    for (const int entry : order_) plan_.slots.push_back(entry < 0 ? -1 : entries_[static_cast<size_t>(entry)].slot);
    return std::move(plan_);
  }

 private:
  struct Entry {
    Tensor handle;
    StorageView position;
    std::optional<Box> box;
    int value = -1;  // which of the values
    int slot = -1;
    bool is_placed = false;
  };

  void add(const Tensor& result) {
    if (!result.defined()) return order_.push_back(-1);
    const Tensor handle = tracer_.current(result, {});
    const auto [known, is_new] = known_.emplace(handle.impl().get(), static_cast<int>(entries_.size()));
    order_.push_back(known->second);
    const int value = next_value_++;
    if (!is_new) return;
    StorageView position =
        tracer_.views().storage_view(handle, [&](const Tensor& root) { return flat_.contains(root.impl().get()); });
    std::optional<Box> box;
    if (position.geometry) box = box_of(position.root.shape(), *position.geometry);
    entries_.push_back({handle, std::move(position), std::move(box), value});
  }

  void position(size_t index) {
    if (entries_[index].is_placed) return;
    const Tensor root = entries_[index].position.root;
    if (const auto leaf = flat_.find(root.impl().get()); leaf != flat_.end())
      return share(index, {SharedResult::Of::argument, leaf->second, {}, {}});
    if (const Tensor* captured = tracer_.inputs().concrete_of(root))
      return share(index, {SharedResult::Of::captured, 0, *captured, {}});
    if (entries_[index].position.views.empty() || !overlaps_another(index)) return keep(index);
    const int result = result_of(root);
    share(index, {SharedResult::Of::result, result, {}, {}});
  }

  // Disjoint regions of a value are tensors of their own: no write into one reaches another.
  bool overlaps_another(size_t index) const {
    const Entry& entry = entries_[index];
    for (const size_t other : groups_.at(entry.position.root.impl().get())) {
      if (other == index) continue;
      const std::optional<Box>&a = entry.box, &b = entries_[other].box;
      bool is_apart = false;
      for (size_t d = 0; a && b && d < a->size(); ++d)
        is_apart = is_apart || (*a)[d].second < (*b)[d].first || (*b)[d].second < (*a)[d].first;
      if (!is_apart) return true;
    }
    return false;
  }

  // The program's result that is this tensor, which need not be one of the function's.
  int result_of(const Tensor& root) {
    const auto [known, is_new] = known_.emplace(root.impl().get(), static_cast<int>(entries_.size()));
    const auto index = static_cast<size_t>(known->second);
    if (is_new) {
      values_.emplace_back();
      entries_.push_back({root, {root, {}, {}}, {}, static_cast<int>(values_.size()) - 1});
    }
    if (!entries_[index].is_placed) keep(index);
    return entries_[index].slot;
  }

  void keep(size_t index) {
    Entry& entry = entries_[index];
    const Value value = tracer_.value_of(entry.handle);
    values_[static_cast<size_t>(entry.value)] = memory_.of(value, entry.handle, entry.position.root);
    entry.slot = static_cast<int>(plan_.kept.size());
    entry.is_placed = true;
    plan_.kept.push_back(entry.value);
  }

  void share(size_t index, SharedResult result) {
    const StorageView position = entries_[index].position;
    size_t first = 0;  // of the views that remain to be built
    for (size_t i = position.views.size(); i-- > 1 && first == 0;) {
      const int before = shared_before(position, i);
      if (before < 0) continue;
      result = {SharedResult::Of::shared, before, {}, {}};
      first = i;
    }
    result.views.assign(position.views.begin() + static_cast<std::ptrdiff_t>(first), position.views.end());
    entries_[index].slot = ResultPlan::slot_of_shared(plan_.shared.size());
    entries_[index].is_placed = true;
    plan_.shared.push_back(std::move(result));
  }

  // The position of the shared result that the i-th view is made of, or of a possible copy, which is made once; else
  // -1.
  int shared_before(const StorageView& of, size_t i) {
    const Tensor& handle = of.views[i - 1].handle;
    auto known = known_.find(handle.impl().get());
    if (known == known_.end()) {
      if (!of.views[i - 1].may_copy) return -1;
      known = known_.emplace(handle.impl().get(), static_cast<int>(entries_.size())).first;
      const std::vector<RecordedView> views(of.views.begin(), of.views.begin() + static_cast<std::ptrdiff_t>(i));
      entries_.push_back({handle, {of.root, views, {}}, {}});
    }
    const auto index = static_cast<size_t>(known->second);
    position(index);
    const int slot = entries_[index].slot;
    return slot < -1 ? static_cast<int>(ResultPlan::shared_of_slot(slot)) : -1;
  }

  Tracer& tracer_;
  const std::unordered_map<const TensorImpl*, int>& flat_;
  std::vector<Value>& values_;
  OwnMemory memory_;
  std::vector<Entry> entries_;  // the results, each once
  std::vector<int> order_;      // for each tensor leaf of the result, which of them
  std::unordered_map<const TensorImpl*, int> known_;
  std::unordered_map<const TensorImpl*, std::vector<size_t>> groups_;  // by root
  int next_value_ = 0;
  ResultPlan plan_;
};

class Constants final : public ArgumentPack::Resolver {
 public:
  explicit Constants(SymbolValues& numbers) : numbers_(numbers) {}
  Tensor tensor(const Ref<TensorProxy>&) override { return {}; }
  Int integer(Int symbol) override { return numbers_.value(symbol); }
  Float floating(Float symbol) override { return numbers_.value(symbol); }
  Bool boolean(Bool symbol) override { return numbers_.value(symbol); }

 private:
  SymbolValues& numbers_;
};

}  // namespace

ResultPlan plan_results(Tracer& tracer, const std::vector<Tensor>& results,
                        const std::unordered_map<const TensorImpl*, int>& flat, std::vector<Value>& values) {
  return Planner(tracer, flat, values).run(results);
}

ReadyViews::ReadyViews(const std::vector<RecordedView>& views, SymbolValues& numbers) {
  Constants constants(numbers);
  for (const RecordedView& view : views) {
    BoundSymbol bound;
    bound.symbol = view.symbol;
    bound.args = view.args;
    views_.push_back({view.symbol, std::make_unique<const ArgumentPack>(bound, constants), view.has_gradients});
  }
}

std::vector<ReadySharedResult> ready(const std::vector<SharedResult>& results, SymbolValues& numbers) {
  std::vector<ReadySharedResult> out;
  for (const SharedResult& result : results)
    out.push_back({result.of, result.index, result.captured, ReadyViews(result.views, numbers)});
  return out;
}

Tensor ReadyViews::of(const Tensor& root) const {
  Tensor out = root;
  for (const View& view : views_) {
    SmallVector<Argument, 10> arguments(view.pack->arguments().begin(), view.pack->arguments().end());
    arguments[0] = Argument(out);
    const GradMode mode(view.has_gradients && grad_enabled());
    out = dispatch(*view.symbol, {arguments.data(), arguments.size()}, {});
  }
  return out;
}

}  // namespace fulgurite::detail
