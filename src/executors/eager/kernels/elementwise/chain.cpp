#include "executors/eager/kernels/elementwise/chain.h"

#include <algorithm>

#include "executors/eager/index_error.h"
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/compute.h"
#include "executors/eager/kernels/common/strided.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {

namespace {

constexpr int64_t block = 1024;  // elements of a value that are computed at a time
constexpr int64_t slot_bytes = block * 8;

/// A tensor with memory, or a number, that is read block by block.
struct Source {
  Tensor tensor;
  const char* data = nullptr;
  Dtype read = Dtype::f32;
  Convert convert = nullptr;
  bool is_linear = false, is_constant = false, is_direct = false;  // direct: read in place
  int64_t item = 0, read_item = 0;
  StridedLoop<1> places;
  int slot = -1;
  alignas(8) char number[8];

  /// Elements [at, at + count) as contiguous memory.
  const void* load(int64_t at, int64_t count, char* slots) const {
    char* const to = slots + slot * slot_bytes;
    if (is_constant) return to;
    if (is_linear) {
      if (is_direct) return data + at * item;
      convert(data + at * item, 1, to, count);
      return to;
    }
    const int64_t length = places.row_length(), stride = places.strides[0].back();
    RowPosition<1> position(places, at / length);
    int64_t column = at % length;
    if (is_direct && stride == 1 && length - column >= count) return data + (position.offsets[0] + column) * item;
    for (int64_t done = 0; done < count;) {
      const int64_t chunk = std::min(length - column, count - done);
      convert(data + (position.offsets[0] + column * stride) * item, stride, to + done * read_item, chunk);
      done += chunk;
      column = 0;
      position.advance();
    }
    return to;
  }
};

/// One operation on each block: a source is read, a row computed, or a value converted.
struct Instruction {
  enum class Kind : uint8_t { load, compute, convert } kind;
  int source = -1;
  Row row = nullptr;
  const RowParameters* parameters = nullptr;
  int operands[max_operands] = {};
  int count = 0;
  Convert conversion = nullptr;
  int value = -1;  // the value it produces
  int slot = -1;   // that value's slot; -1: the result
};

}  // namespace

/// Computes one step, with the steps it depends on, from memory to memory.
class ChainProgram {
 public:
  ChainProgram(const Chain& chain, int target) : chain_(chain), values_of_step_(chain.steps_.size()) {
    const Tensor& result = chain.steps_[static_cast<size_t>(target)].result;
    sizes_ = result.impl()->sizes;
    item_ = size_of(result.impl()->dtype);
    target_ = emit_step(target);
    read_sources();
    place_in_slots();
  }

  /// The common strides of all tensors read, if all are transposed in the same way.
  const Sizes* common_strides() const {
    return is_turned_ ? &sources_[static_cast<size_t>(first_tensor_)].tensor.impl()->strides : nullptr;
  }

  void run(char* to, int64_t count, int64_t grain) const {
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      const Scratch<char> slots(std::max(1, slots_) * slot_bytes);
      for (const Source& source : sources_)
        if (source.is_constant) source.convert(source.data, 0, slots.data() + source.slot * slot_bytes, block);
      const Scratch<const void*> values(static_cast<int64_t>(value_count_));
      for (int64_t at = begin; at < end; at += block)
        run_block(at, std::min(block, end - at), slots.data(), values.data(), to + at * item_);
    });
  }

 private:
  void run_block(int64_t at, int64_t count, char* slots, const void** values, char* to) const {
    for (const Instruction& i : instructions_) {
      void* const out = i.slot < 0 ? static_cast<void*>(to) : slots + i.slot * slot_bytes;
      switch (i.kind) {
        case Instruction::Kind::load:
          values[i.value] = sources_[static_cast<size_t>(i.source)].load(at, count, slots);
          continue;
        case Instruction::Kind::compute: {
          const void* operands[max_operands];
          for (int k = 0; k < i.count; ++k) operands[k] = values[i.operands[k]];
          i.row(operands, out, count, *i.parameters);
          break;
        }
        case Instruction::Kind::convert: i.conversion(values[i.operands[0]], 1, out, count); break;
      }
      values[i.value] = out;
    }
  }

  /// The values of one step by the dtype they are read in.
  struct Values {
    int in[dtype_count];
    Values() { std::fill_n(in, dtype_count, -1); }
  };

  int emit_step(int index) {
    const Chain::Step& step = chain_.steps_[static_cast<size_t>(index)];
    const Dtype dtype = step.result.impl()->dtype;
    int& known = values_of_step_[static_cast<size_t>(index)].in[static_cast<int>(dtype)];
    if (known >= 0) return known;
    Instruction row{.kind = Instruction::Kind::compute,
                    .row = step.operation.row,
                    .parameters = &step.parameters,
                    .count = step.count};
    for (int k = 0; k < step.count; ++k)
      row.operands[k] = emit_operand(step.operands[k], step.operation.operand_dtypes[k]);
    int value = emit(row);
    if (step.operation.result_dtype != dtype) value = emit_conversion(value, step.operation.result_dtype, dtype);
    return known = value;
  }
  int emit_conversion(int value, Dtype from, Dtype to) {
    Instruction conversion{.kind = Instruction::Kind::convert, .count = 1, .conversion = find_conversion(from, to)};
    conversion.operands[0] = value;
    return emit(conversion);
  }
  int emit(Instruction instruction) {
    instruction.value = value_count_++;
    instructions_.push_back(instruction);
    return instruction.value;
  }

  int emit_operand(const Chain::Operand& operand, Dtype read) {
    if (operand.step < 0) return emit_source(operand, read);
    const Chain::Step& step = chain_.steps_[static_cast<size_t>(operand.step)];
    if (step.is_done()) {
      Chain::Operand finished;
      finished.tensor = step.result;
      return emit_source(finished, read);
    }
    const int value = emit_step(operand.step);
    const Dtype dtype = step.result.impl()->dtype;
    if (dtype == read) return value;
    int& known = values_of_step_[static_cast<size_t>(operand.step)].in[static_cast<int>(read)];
    if (known < 0) known = emit_conversion(value, dtype, read);
    return known;
  }

  int emit_source(const Chain::Operand& operand, Dtype read) {
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Source& known = sources_[i];
      if (known.read != read) continue;
      const bool same = operand.is_number ? !known.tensor.defined() && std::memcmp(known.number, operand.number, 8) == 0
                                          : known.tensor.defined() && known.tensor.is_same(operand.tensor);
      if (same) return source_values_[i];
    }
    Source source;
    source.read = read;
    source.read_item = source.item = size_of(read);
    if (operand.is_number) {
      source.is_constant = true;
      std::memcpy(source.number, operand.number, 8);
      source.convert = find_conversion(read, read);
    } else {
      source.tensor = operand.tensor;
    }
    sources_.push_back(source);
    source_values_.push_back(emit({.kind = Instruction::Kind::load, .source = static_cast<int>(sources_.size()) - 1}));
    return source_values_.back();
  }

  void read_sources() {
    bool same = true;
    for (size_t i = 0; i < sources_.size(); ++i) {
      Source& source = sources_[i];
      if (!source.tensor.defined()) {
        source.data = source.number;
        continue;
      }
      const TensorImpl& impl = *source.tensor.impl();
      if (impl.numel() == 1) continue;
      if (first_tensor_ < 0) first_tensor_ = static_cast<int>(i);
      same = same && !impl.is_contiguous && is_transposed(impl, sizes_) && is_dense(impl) &&
             impl.strides == sources_[static_cast<size_t>(first_tensor_)].tensor.impl()->strides;
    }
    is_turned_ = same && first_tensor_ >= 0;
    for (Source& source : sources_)
      if (source.tensor.defined()) read_tensor(source);
  }
  /// Returns true if its elements are contiguous in some order of the dimensions.
  static bool is_dense(const TensorImpl& t) {
    int64_t reach = 1;
    for (size_t d = 0; d < t.sizes.size(); ++d) {
      if (t.strides[d] <= 0) return false;
      reach += (t.sizes[d] - 1) * t.strides[d];
    }
    return reach == t.numel();
  }
  void read_tensor(Source& source) const {
    const TensorImpl* impl = source.tensor.impl().get();
    if (!is_turned_ && !impl->is_contiguous && is_transposed(*impl, sizes_)) {
      source.tensor = contiguous_elements(source.tensor);
      impl = source.tensor.impl().get();
    }
    source.data = impl->data();
    source.item = size_of(impl->dtype);
    source.convert = find_conversion(impl->dtype, source.read);
    source.is_direct = impl->dtype == source.read;
    source.is_constant = impl->numel() == 1;
    source.is_linear = is_turned_ || (impl->is_contiguous && impl->sizes == sizes_);
    if (source.is_constant || source.is_linear) return;
    source.places.sizes = sizes_;
    source.places.strides[0] = broadcast_strides(*impl, sizes_);
    source.places.merge_dimensions();
  }

  /// Slots are allocated in order and freed after their values' last use; numbers keep theirs.
  void place_in_slots() {
    std::vector<int> last(static_cast<size_t>(value_count_), -1), slot_of(static_cast<size_t>(value_count_), -1), free;
    for (size_t i = 0; i < instructions_.size(); ++i)
      for (int k = 0; k < instructions_[i].count; ++k)
        last[static_cast<size_t>(instructions_[i].operands[k])] = static_cast<int>(i);
    const auto take = [&] {
      if (free.empty()) return slots_++;
      const int slot = free.back();
      free.pop_back();
      return slot;
    };
    for (Source& source : sources_)
      if (source.is_constant) source.slot = slots_++;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      Instruction& instruction = instructions_[i];
      const auto value = static_cast<size_t>(instruction.value);
      if (instruction.value != target_ &&
          !(instruction.source >= 0 && sources_[static_cast<size_t>(instruction.source)].is_constant)) {
        slot_of[value] = instruction.slot = take();
        if (instruction.source >= 0) sources_[static_cast<size_t>(instruction.source)].slot = instruction.slot;
      }
      for (int k = 0; k < instruction.count; ++k) {
        const auto operand = static_cast<size_t>(instruction.operands[k]);
        if (last[operand] != static_cast<int>(i) || slot_of[operand] < 0) continue;
        free.push_back(slot_of[operand]);
        slot_of[operand] = -1;
      }
    }
  }

  const Chain& chain_;
  Sizes sizes_;
  std::vector<Values> values_of_step_;
  std::vector<Source> sources_;
  std::vector<int> source_values_;
  std::vector<Instruction> instructions_;
  int value_count_ = 0, slots_ = 0, target_ = 0, first_tensor_ = -1;
  bool is_turned_ = false;
  int64_t item_ = 0;
};

int Chain::find(const Storage& storage) const {
  for (size_t i = steps_.size(); i-- > 0;)
    if (steps_[i].result.impl()->storage.get() == &storage) return static_cast<int>(i);
  return -1;
}

Chain::Operand Chain::operand_of(const Argument& argument, Dtype read, const Tensor& result) {
  Operand operand;
  if (!argument.is_tensor()) {
    operand.is_number = true;
    std::memset(operand.number, 0, sizeof operand.number);
    write_number(argument, read, operand.number);
    return operand;
  }
  const TensorImpl& impl = *argument.tensor().impl();
  if (is_pending(impl)) {
    // Element i of the result depends only on element i of the operand if they have the same sizes; not so for a view
    // of other sizes than the step's, because its operands are broadcast to its own.
    if (impl.is_contiguous && impl.offset == 0 && impl.sizes == result.impl()->sizes) {
      const int step = find(*impl.storage);
      if (step >= 0 && steps_[static_cast<size_t>(step)].result.impl()->dtype == impl.dtype &&
          steps_[static_cast<size_t>(step)].result.impl()->sizes == impl.sizes) {
        operand.step = step;
        return operand;
      }
    }
    finish(*impl.storage);
  }
  operand.tensor = argument.tensor();
  return operand;
}

void Chain::add(const Pointwise& operation, std::initializer_list<const Argument*> operands, const Tensor& result,
                const RowParameters& parameters) {
  Step step;
  step.operation = operation;
  step.parameters = parameters;
  for (const Argument* operand : operands) {
    step.operands[step.count] = operand_of(*operand, operation.operand_dtypes[step.count], result);
    ++step.count;
  }
  step.result = result;
  steps_.push_back(std::move(step));
  // An integer division may fail, and the error must name its own call.
  if (!is_floating(operation.result_dtype) && operation.result_dtype != Dtype::boolean && operation.can_divide_by_zero)
    finish(*result.impl()->storage);
}

void Chain::finish(const Storage& storage) {
  const int index = find(storage);
  if (index >= 0 && storage.data == nullptr) compute(index);
}

void Chain::finish_all() {
  for (size_t i = steps_.size(); i-- > 0;)
    if (!steps_[i].is_done() && steps_[i].is_held()) compute(static_cast<int>(i));
}

void Chain::compute(int index) {
  Step& step = steps_[static_cast<size_t>(index)];
  bool divided_by_zero = false;
  step.parameters.divided_by_zero = &divided_by_zero;
  const ChainProgram program(*this, index);
  const TensorImpl& result = *step.result.impl();
  materialize(*result.storage);
  if (const Sizes* order = program.common_strides()) {
    // Everything is computed in memory order, and only the result is transposed.
    const Tensor turned = make_tensor(result.sizes, result.dtype);
    program.run(turned.impl()->data(), result.numel(), step.operation.grain);
    copy_elements(make_view(turned.impl()->storage, result.sizes, *order, 0, result.dtype), step.result);
  } else {
    program.run(result.data(), result.numel(), step.operation.grain);
  }
  if (divided_by_zero) throw_division_by_zero();
}

std::unique_ptr<PendingValues> make_chain() { return std::make_unique<Chain>(); }

}  // namespace fulgurite::FULGURITE_KERNELS
