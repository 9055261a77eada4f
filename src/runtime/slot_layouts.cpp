#include "runtime/slot_layouts.h"

#include <fulgurite/symbol.h>

#include "ops/core/rules.h"
#include "runtime/step_arguments.h"
#include "tensor/meta_tensor.h"

namespace fulgurite {

namespace {

class Layouts {
 public:
  Layouts(const ExecutionPlan& plan, std::span<const InputRecord> inputs) : plan_(plan), out_(plan.slots.size()) {
    for (size_t i = 0; i < plan.slots.size(); ++i) take_planned(static_cast<int>(i));
    for (size_t i = 0; i < plan.inputs.size(); ++i)
      if (plan.inputs[i] >= 0 && i < inputs.size()) take_input(plan.inputs[i], inputs, i);
  }

  std::vector<SlotLayout> run() {
    for (size_t i = 0; i < plan_.slots.size(); ++i) take_input_memory(static_cast<int>(i));
    for (const Step& step : plan_.steps)
      if (step.kind == Step::Kind::input_view) take_input_view(step);
    return std::move(out_);
  }

 private:
  void take_planned(int index) {
    const Slot& slot = plan_.slots[index];
    out_[index] = {slot.sizes(), slot.strides(), slot.offset, slot.dtype, slot.root};
  }

  void take_input(int slot, std::span<const InputRecord> inputs, size_t position) {
    const InputRecord& record = inputs[position];
    if (record.storage == nullptr) return;
    out_[slot] = {record.sizes, record.strides, record.offset, record.dtype, slot};
    for (size_t earlier = 0; earlier < position; ++earlier)
      if (inputs[earlier].storage == record.storage && plan_.inputs[earlier] >= 0) {
        out_[slot].memory = out_[plan_.inputs[earlier]].memory;
        return;
      }
  }

  // A result written directly into an input has that input's memory.
  void take_input_memory(int index) {
    const Slot& root = plan_.slots[plan_.slots[index].root];
    if (root.storage_class != StorageClass::input_memory) return;
    const SlotLayout& destination = out_[root.destination];
    if (!has_contiguous_strides(destination.sizes, destination.strides)) return;
    out_[index].memory = destination.memory;
    out_[index].offset += destination.offset;
  }

  void take_input_view(const Step& step) {
    const SlotLayout& base = out_[step.source];
    SlotLayout& view = out_[step.result];
    ViewGeometry geometry;
    view.memory = base.memory;
    if (!apply(step, base.strides, base.offset, geometry)) {
      geometry = ViewGeometry();
      apply(step, contiguous_strides(base.sizes), 0, geometry);  // the input view is a copy
      view.memory = step.result;
    }
    view.sizes = geometry.sizes;
    view.strides = geometry.strides;
    view.offset = geometry.offset;
  }

  bool apply(const Step& step, const Sizes& strides, int64_t offset, ViewGeometry& geometry) {
    std::vector<Tensor> slots(plan_.slots.size());
    for (const int operand : step.operands) {
      const SlotLayout& layout = out_[operand];
      slots[operand] = operand == step.source ? meta_tensor(layout.sizes, strides, offset, layout.dtype)
                                              : meta_tensor(layout.sizes, layout.strides, layout.offset, layout.dtype);
    }
    const StepArguments arguments(plan_, step, slots);
    return step.bound->symbol->view(arguments.arguments(), geometry);
  }

  const ExecutionPlan& plan_;
  std::vector<SlotLayout> out_;
};

}  // namespace

std::vector<SlotLayout> slot_layouts(const ExecutionPlan& plan, std::span<const InputRecord> inputs) {
  return Layouts(plan, inputs).run();
}

}  // namespace fulgurite
