#include "runtime/plan/reuse_operand_buffers.h"

#include <algorithm>

#include <fulgurite/symbol.h>

#include "implementation/implementation.h"
#include "ops/generated/symbols.h"

namespace fulgurite {

namespace {

class OperandReuse {
 public:
  explicit OperandReuse(ExecutionPlan& plan) : plan_(plan), views_(plan.slots.size()) {
    for (size_t i = 0; i < plan.slots.size(); ++i)
      if (const int root = plan.slots[i].root; root != static_cast<int>(i)) views_[root].push_back(static_cast<int>(i));
  }

  void run() {
    for (const Step& step : plan_.steps) {
      if (step.kind != Step::Kind::kernel) continue;
      for (int k = 0; k < step.result_count; ++k)
        for (size_t operand = 0; operand < step.operands.size(); ++operand)
          if (may_be_overwritten_in_place(step, k, operand)) {
            write_over(step.operands[operand], step.result + k);
            break;
          }
    }
  }

 private:
  Slot& slot(int index) { return plan_.slots[static_cast<size_t>(index)]; }

  bool may_be_overwritten_in_place(const Step& step, int k, size_t operand) {
    const int read = step.operands[operand];
    const Slot &from = slot(read), &result = slot(step.result + k), &root = slot(from.root);
    // first and last count all steps, including dropped ones; a result is live from its own step on.
    if (result.storage_class != StorageClass::arena || result.root != step.result + k ||
        root.storage_class != StorageClass::arena || root.last != result.first)
      return false;
    const int64_t count = result.element_count();
    if (count == 0 || size_of(result.dtype) != size_of(from.dtype) || from.element_count() != count) return false;
    if (root.element_count() * size_of(root.dtype) != count * size_of(result.dtype)) return false;
    if (from.offset != 0 || from.strides() != contiguous_strides(from.sizes()) ||
        result.strides() != contiguous_strides(result.sizes()))
      return false;
    const auto shares = [&](int other) { return slot(other).root == from.root; };
    return std::ranges::count_if(step.operands, shares) == 1 &&
           step.bound->implementation->may_overwrite(static_cast<size_t>(k), operand);
  }

  void write_over(int operand, int result) {
    const int root = slot(operand).root;
    slot(root).last = std::max(slot(root).last, slot(result).last);
    slot(result).root = root;
    views_[root].push_back(result);
    for (const int view : views_[result]) {
      slot(view).root = root;
      views_[root].push_back(view);
    }
  }

  ExecutionPlan& plan_;
  std::vector<std::vector<int>> views_;  // by root
};

}  // namespace

bool is_scatter_update(const Symbol& symbol) { return symbol.semantics.scatter_update; }

bool is_elementwise_update(const Symbol& symbol) {
  return symbol.traits.pointwise || symbol.semantics.elementwise_update;
}

void write_results_over_operands(ExecutionPlan& plan) { OperandReuse(plan).run(); }

}  // namespace fulgurite
