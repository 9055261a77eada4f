#include "runtime/frame.h"

#include <algorithm>
#include <atomic>

#include <fulgurite/symbol.h>

#include "ops/core/call_error.h"
#include "ops/core/dispatch.h"
#include "runtime/copy_elements.h"
#include "runtime/ticks.h"
#include "support/context.h"
#include "support/text/text.h"
#include "tensor/memory/allocator.h"
#include "tensor/write_count.h"

namespace fulgurite {

namespace {

// Smaller arenas stay with their frames, because an allocator call costs 0.1 µs, as long as their total is within the
// limit.
constexpr int64_t large_arena = int64_t{256} << 10, max_arena_bytes = int64_t{16} << 20;

bool lends(int64_t bytes) {
  if (bytes >= large_arena) return true;
  if (context().bytes_of_arenas.fetch_add(bytes, std::memory_order_relaxed) + bytes <= max_arena_bytes) return false;
  context().bytes_of_arenas.fetch_sub(bytes, std::memory_order_relaxed);
  return true;
}

// The fused op that reads an operand of its fusion, through views; the fusion itself if there is none.
const BoundSymbol& reader_of(const BoundSymbol& fusion, size_t operand) {
  int id = fusion.args.read()[operand].proxy_id();
  for (const BoundSymbol& op : fusion.subsymbols) {
    const bool reads = std::ranges::any_of(
        op.flat_args(), [&](const Value& argument) { return argument.is_tensor() && argument.proxy_id() == id; });
    if (!reads) continue;
    if (!op.symbol->traits.view) return op;
    id = op.outputs.read()[0].proxy_id();
  }
  return fusion;
}

// "gather(cpu f32[2, 3], cpu i64[2, 1])"
std::string call_text_of_types(const BoundSymbol& op) {
  std::string types;
  for (const Value& argument : op.flat_args())
    if (argument.is_tensor()) types += (types.empty() ? "" : ", ") + argument.tensor().type_text();
  return text::cat(op.symbol->name(), "(", types, ")");
}

}  // namespace

Frame::Frame(const ExecutionPlan& plan)
    : plan_(plan),
      owns_arena_(lends(plan.arena_bytes)),
      arena_(owns_arena_ ? borrow_storage(nullptr, plan.arena_bytes) : allocate_storage(plan.arena_bytes)) {
  slots_.reserve(plan.slots.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.storage_class == StorageClass::none) {
      slots_.emplace_back();
      continue;
    }
    if (slot.storage_class == StorageClass::arena) {
      const int64_t start = plan.slots[slot.root].arena_offset / size_of(slot.dtype);
      slots_.push_back(make_view(arena_, slot.sizes(), slot.strides(), start + slot.offset, slot.dtype));
      continue;
    }
    // Defined from the start, because arguments remember whether there is a tensor.
    slots_.push_back(geometry_only(slot));
    const bool is_view = slot.storage_class == StorageClass::input_view || slot.root != static_cast<int>(i);
    (is_view && !slot.escapes ? borrowing_ : transient_).push_back(static_cast<int>(i));
  }
  steps_.reserve(plan.steps.size());
  for (const Step& step : plan.steps) {
    int view = -1;
    if (step.kind == Step::Kind::input_view) {
      view = static_cast<int>(input_views_.size());
      input_views_.emplace_back();
    }
    int fusion = -1;
    if (is_fusion(step)) {
      fusion = static_cast<int>(fusion_ticks_.size());
      fusion_ticks_.push_back(0);
    }
    steps_.push_back({StepArguments(plan, step, slots_), view, fusion});
  }
  input_records_.resize(plan.inputs.size());
}

Frame::~Frame() {
  return_arena();
  if (!owns_arena_) context().bytes_of_arenas.fetch_sub(arena_->bytes, std::memory_order_relaxed);
}

void Frame::run(std::span<const Tensor> inputs) {
  take_inputs(inputs);
  if (owns_arena_) arena_->data = allocate(static_cast<size_t>(arena_->bytes));
  size_t i = 0;
  try {
    if (clock_) [[unlikely]] {
      StepClock::Run& timed = clock_->begin(steps_.size());
      for (; i < steps_.size(); ++i, timed.note()) run_step(plan_.steps[i], steps_[i]);
    } else {
      for (; i < steps_.size(); ++i) run_step(plan_.steps[i], steps_[i]);
    }
  } catch (const OperandError& error) {
    const BoundSymbol& fusion = *plan_.steps[i].bound;
    const BoundSymbol& op = reader_of(fusion, error.operand());
    throw CallError(call_text_of_types(op), error.what(), op.source);
  } catch (const UnlocatedError& error) {
    if (plan_.steps[i].kind != Step::Kind::kernel) throw;
    const BoundSymbol& bound = *plan_.steps[i].bound;
    throw CallError(call_text(*bound.symbol, steps_[i].arguments.arguments()), error.what(), bound.source);
  }
  if (!fusion_ticks_.empty()) plan_.fusion_times->add(fusion_ticks_);
}

void Frame::return_arena() {
  if (!owns_arena_ || !arena_->data) return;
  deallocate(arena_->data, static_cast<size_t>(arena_->bytes));
  arena_->data = nullptr;
}

void Frame::release() {
  return_arena();
  clock_.reset();
  for (const int slot : transient_) slots_[slot] = Tensor();
  for (const int slot : borrowing_) slots_[slot].impl()->storage = StorageRef();
  for (FrameStep& step : steps_) step.arguments.release();
}

int64_t Frame::bytes() const {
  int64_t bytes = static_cast<int64_t>(slots_.size() * (sizeof(Tensor) + sizeof(TensorImpl)));
  for (const FrameStep& step : steps_)
    bytes += static_cast<int64_t>(sizeof(FrameStep) + step.arguments.count() * sizeof(Argument));
  return bytes +
         static_cast<int64_t>(input_views_.size() * sizeof(InputView) + input_records_.size() * sizeof(InputRecord));
}

void Frame::take_inputs(std::span<const Tensor> inputs) {
  if (inputs.size() != plan_.inputs.size())
    throw InternalError(text::cat(plan_.trace.name, " takes ", plan_.inputs.size(), " inputs, got ", inputs.size()));
  input_records_.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    InputRecord& record = input_records_[i];
    const int slot = plan_.inputs[i];
    if (!inputs[i].defined()) {
      if (slot >= 0) throw InternalError(text::cat(plan_.trace.name, ": input ", i, " is not given"));
      record = InputRecord();
      continue;
    }
    const TensorImpl& impl = *inputs[i].impl();
    record.sizes = impl.sizes;
    record.strides = impl.strides;
    record.offset = impl.offset;
    record.dtype = impl.dtype;
    record.storage = impl.storage.get();
    if (slot < 0) continue;
    if (impl.dtype != plan_.slots[slot].dtype || !(impl.sizes == plan_.slots[slot].sizes()) || impl.proxy)
      throw InternalError(text::cat(plan_.trace.name, ": input ", i, " is ", type_text(inputs[i]),
                                    ", but the program was made for ", type_text(geometry_only(plan_.slots[slot]))));
    slots_[slot] = inputs[i];
  }
}

// Times fusions only: they take much longer than reading the counter.
template <class Run>
void Frame::note_time(const FrameStep& frame_step, const Run& run) {
  if (frame_step.fusion < 0) return run();
  const uint64_t began = ticks();
  run();
  fusion_ticks_[static_cast<size_t>(frame_step.fusion)] = ticks() - began;
}

void Frame::run_step(const Step& step, FrameStep& frame_step) {
  switch (step.kind) {
    case Step::Kind::kernel:
      frame_step.arguments.refresh();
      for (int k = 0; k < step.result_count; ++k) prepare_result(step.result + k);
      note_time(frame_step, [&] {
        step.bound->implementation->run(frame_step.arguments.arguments(),
                                        {slots_.data() + step.result, static_cast<size_t>(step.result_count)});
      });
      return;
    case Step::Kind::call: note_time(frame_step, [&] { run_call(step, frame_step); }); return;
    case Step::Kind::clone:
      prepare_result(step.result);
      copy_elements(slots_[step.source], slots_[step.result]);
      return;
    case Step::Kind::view: run_view(step); return;
    case Step::Kind::input_view: run_input_view(step, frame_step); return;
    case Step::Kind::write: run_write(step); return;
  }
}

// Adopts the returned tensors as the slots': they are contiguous and uniquely owned.
void Frame::run_call(const Step& step, FrameStep& frame_step) {
  frame_step.arguments.refresh();
  Results results;
  step.bound->implementation->user->run(frame_step.arguments.arguments(), step.bound->source, results);
  for (int k = 0; k < step.result_count; ++k) {
    const Slot& slot = plan_.slots[step.result + k];
    const bool is_given = static_cast<size_t>(k) < results.size();
    if (!is_given || !(results[k].impl()->sizes == slot.sizes()) || results[k].dtype() != slot.dtype)
      throw UserError(text::cat("the run of ", step.bound->symbol->qualified_name(), " gave ",
                                is_given ? type_text(results[k]) : "nothing", " as result ", k,
                                ", where its types were found to be ", type_text(geometry_only(slot)),
                                "; result types depend on the arguments' shapes, dtypes and numbers "
                                "only, not on elements"),
                      step.bound->source);
    slots_[step.result + k] = std::move(results[k]);
  }
}

void Frame::prepare_result(int index) {
  const Slot& slot = plan_.slots[index];
  if (slot.storage_class == StorageClass::arena || slot.storage_class == StorageClass::none) return;
  if (slot.storage_class == StorageClass::input_memory) {
    const TensorImpl& destination = *slots_[slot.destination].impl();
    if (destination.is_contiguous) {
      slots_[index] = make_view(destination.storage, slot.sizes(), slot.strides(), destination.offset, slot.dtype);
      return;
    }
  }
  slots_[index] = make_tensor(slot.sizes(), slot.dtype);
}

void Frame::place_view(int index, const StorageRef& storage, const Sizes& sizes, const Sizes& strides, int64_t offset) {
  const Slot& slot = plan_.slots[index];
  if (slot.escapes) {
    slots_[index] = make_view(storage, sizes, strides, offset, slot.dtype);
    return;
  }
  TensorImpl& impl = *slots_[index].impl();
  impl.storage = storage;
  impl.offset = offset;
  if (!(impl.strides == strides)) {
    impl.strides = strides;
    update_contiguity(impl);
  }
}

void Frame::run_view(const Step& step) {
  const Slot& slot = plan_.slots[step.result];
  const TensorImpl& root = *slots_[slot.root].impl();  // its offset may be nonzero in an input's memory
  place_view(step.result, root.storage, slot.sizes(), slot.strides(), root.offset + slot.offset);
}

void Frame::run_input_view(const Step& step, FrameStep& frame_step) {
  const Tensor& base = slots_[step.source];
  const TensorImpl& impl = *base.impl();
  InputView& known = input_views_[frame_step.input_view];
  Tensor copy;
  const auto copy_base = [&] {
    copy = make_tensor(impl.sizes, impl.dtype);
    copy_elements(base, copy);
  };
  if (!known.is_known || !(known.base_strides == impl.strides) || known.base_offset != impl.offset) {
    known.is_known = false;
    known.geometry = ViewGeometry();
    const Arguments arguments = frame_step.arguments.arguments();
    known.is_copied = !step.bound->symbol->view(arguments, known.geometry);
    if (known.is_copied) {
      copy_base();
      known.geometry = ViewGeometry();
      SmallVector<Argument, 10> with_copy(arguments.begin(), arguments.end());
      with_copy[0] = Argument(copy);
      if (!step.bound->symbol->view({with_copy.data(), with_copy.size()}, known.geometry))
        throw InternalError(text::cat(step.bound->symbol->qualified_name(), " is not a view of a contiguous tensor"));
    }
    known.base_strides = impl.strides;
    known.base_offset = impl.offset;
    known.is_known = true;
  } else if (known.is_copied) {
    copy_base();
  }
  const StorageRef storage = known.is_copied ? copy.impl()->storage : impl.storage;
  place_view(step.result, storage, known.geometry.sizes, known.geometry.strides, known.geometry.offset);
}

void Frame::run_write(const Step& step) {
  const Tensor &source = slots_[step.source], &destination = slots_[step.result];
  const StorageRef& memory = destination.impl()->storage;
  const bool is_there =
      plan_.slots[step.source].storage_class == StorageClass::input_memory && source.impl()->storage == memory;
  if (!is_there) copy_elements(source, destination);
  count_write(*memory);
}

}  // namespace fulgurite
