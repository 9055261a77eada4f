#include "runtime/plan/elide_concat_copies.h"

#include <algorithm>
#include <optional>

#include <fulgurite/symbol.h>

#include "implementation/implementation.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

/// Layout of a concat operand inside the concat result: contiguous runs of `run` elements of the operand are
/// `whole_run` elements apart in the result.
struct ConcatSlice {
  int64_t run = 0, whole_run = 0, first = 0;

  /// Returns nullopt if elements along one stride would need several.
  std::optional<Geometry> strides(const Geometry& part, int64_t offset) const {
    Geometry out = part;
    int64_t last_in_run = offset % run;
    for (size_t d = 0; d < part.sizes.size(); ++d) {
      const int64_t stride = part.strides[d];
      if (stride % run == 0) out.strides[d] = stride / run * whole_run;
      else last_in_run += (part.sizes[d] - 1) * stride;
    }
    return last_in_run < run ? std::optional(out) : std::nullopt;
  }
  int64_t offset(int64_t in_part) const { return first + in_part / run * whole_run + in_part % run; }
};

class ElideConcatCopies {
 public:
  explicit ElideConcatCopies(ExecutionPlan& plan)
      : plan_(plan), readers_(plan.slots.size(), 0), maker_(plan.slots.size(), -1) {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = plan.steps[i];
      for (const int operand : step.operands) ++readers_[plan.slots[operand].root];
      if (step.kind == Step::Kind::kernel)
        for (int k = 0; k < step.result_count; ++k) maker_[step.result + k] = static_cast<int>(i);
    }
  }

  void run() {
    const auto is_concatenated = [&](const Step& step) { return is_cat(step) && join(step); };
    std::erase_if(plan_.steps, is_concatenated);
  }

  static bool is_cat(const Step& step) {
    return step.kind == Step::Kind::kernel && step.bound->symbol->semantics.concatenation &&
           step.bound->args.size() > 1;
  }

 private:
  struct Change {
    int slot, root;
    Geometry geometry;
    int64_t offset;
  };

  bool join(const Step& cat) {
    const Slot& whole = plan_.slots[cat.result];
    if (whole.storage_class != StorageClass::arena || cat.operands.size() < 2) return false;
    const auto ndim = static_cast<int64_t>(whole.sizes().size());
    int64_t dim = cat.bound->args.at(1).integer().hint(), inner = 1;
    if (dim < 0) dim += ndim;
    for (int64_t d = dim + 1; d < ndim; ++d) inner *= whole.sizes()[d];
    ConcatSlice storage_class{0, whole.sizes()[dim] * inner, 0};
    std::vector<Change> changes;
    for (const int operand : cat.operands) {
      if (static_cast<int64_t>(plan_.slots[operand].sizes().size()) != ndim) return false;
      storage_class.run = plan_.slots[operand].sizes()[dim] * inner;
      if (!take(operand, whole.dtype, storage_class, changes)) return false;
      storage_class.first += storage_class.run;
    }
    for (Change& change : changes) change_slot(cat.result, change);
    return true;
  }

  bool take(int operand, Dtype dtype, const ConcatSlice& storage_class, std::vector<Change>& changes) const {
    const Slot& part = plan_.slots[operand];
    const Slot& root = plan_.slots[part.root];
    const int maker = maker_[part.root];
    if (root.storage_class != StorageClass::arena || maker < 0 || readers_[part.root] != 1 || part.dtype != dtype ||
        storage_class.run == 0)
      return false;
    const Implementation& implementation = *plan_.steps[maker].bound->implementation;
    if (!implementation.takes_result_strides) return false;
    // The operand must be all of its root, contiguous.
    if (part.offset != 0 || part.strides() != contiguous_strides(part.sizes()) ||
        part.element_count() != root.element_count())
      return false;
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      const Slot& slot = plan_.slots[i];
      if (slot.root != part.root) continue;
      const auto geometry = storage_class.strides({slot.sizes(), slot.strides()}, slot.offset);
      if (!geometry) return false;
      if (static_cast<int>(i) == part.root && slot.sizes().back() > 1 && geometry->strides.back() != 1) return false;
      changes.push_back({static_cast<int>(i), part.root, *geometry, storage_class.offset(slot.offset)});
    }
    return true;
  }

  void change_slot(int whole, Change& change) {
    Slot& slot = plan_.slots[change.slot];
    Slot& result = plan_.slots[whole];
    if (change.slot == change.root) {
      result.first = std::min(result.first, slot.first);
      result.last = std::max(result.last, slot.last);
    }
    plan_.geometries.push_back(std::move(change.geometry));
    slot.geometry = &plan_.geometries.back();
    slot.offset = change.offset;
    slot.root = whole;
  }

  ExecutionPlan& plan_;
  // by root: the number of steps that read it or a view of it; the step that produces it
  std::vector<int> readers_, maker_;
};

}  // namespace

void elide_concat_copies(ExecutionPlan& plan) {
  if (std::ranges::any_of(plan.steps, ElideConcatCopies::is_cat)) ElideConcatCopies(plan).run();
}

}  // namespace fulgurite
