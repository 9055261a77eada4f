#include "executors/fuser/fusion_kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codegen/ir/print_kernel.h"
#include "codegen/render/scalar_target.h"
#include "executors/eager/index_error.h"
#include "executors/fused_kernel_visitor.h"
#include "runtime/copy_elements.h"
#include "runtime/threads/parallel_for.h"
#include "runtime/threads/store_fence.h"
#include "support/base/unlocated_error.h"
#include "tensor/memory/scratch_memory.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::fuser {

using codegen::Extent;
using kernels::Launch;
using kernels::max_row_dimensions;
using kernels::Operand;

namespace {

constexpr size_t max_operands = 48;
constexpr int64_t block_columns = 8192;  // units in which threads divide long rows
constexpr int64_t min_rows = 16;
constexpr int64_t min_elements_per_thread = 16384;  // elements
// Rows with several row loops prefetch the next row, or a part of this one. Layer norm of rows of 4 KB takes a quarter
// less time than with one KB; a training step of a GPT of six layers takes 3 % more if its pointwise kernels do so too,
// of which only large ones gain by it.
constexpr long max_ahead = 4096;

int64_t rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

template <class T>
void add_numbers(char* to, const char* from, int64_t count) {
  T* const a = reinterpret_cast<T*>(to);
  const T* const b = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) a[i] = static_cast<T>(a[i] + b[i]);
}

Dtype dtype_of_lanes(Dtype dtype) {
  if (dtype == Dtype::f64) return dtype;
  return is_floating(dtype) ? Dtype::f32 : Dtype::i64;
}

}  // namespace

/// One call: the tensors' layouts and the launch.
class FusionKernel::Call {
 public:
  Call(const FusionKernel& kernel, Arguments arguments, std::span<const Tensor> results)
      : kernel_(kernel), results_(results) {
    const size_t inputs = kernel.inputs_.size();
    for (size_t i = 0; i < inputs; ++i) add(kernel.inputs_[i], arguments[i].tensor());
    for (size_t i = 0; i < results.size(); ++i) add(kernel.outputs_[i], results[i]);
    for (size_t k = 0; k < count_; ++k) find_strides(k);
    find_columns();
    find_rows();
    for (size_t k = 0; k < inputs; ++k)
      if (places_[k]->is_place) check_indices(k);
  }

  void run() {
    if (kernel_.kernel_.has_column_sums) return run_with_column_sums();
    if (rows_ == 0) return;
    // Rows that are reduced stay whole, and so do those with a value per row, which must be written once.
    const auto is_of_rows = [](const OperandLayout& layout) { return layout.extent == Extent::row; };
    const bool is_divisible = !kernel_.kernel_.has_row_sums && std::ranges::none_of(kernel_.outputs_, is_of_rows);
    const bool divides_rows = is_divisible && rows_ < min_rows && launch_.columns >= 2 * block_columns;
    const int64_t in_row = divides_rows ? (launch_.columns + block_columns - 1) / block_columns : 1;
    const int64_t work = divides_rows ? block_columns : std::max<int64_t>(launch_.columns, 1);
    parallel_ranges(rows_ * in_row, std::max<int64_t>(1, min_elements_per_thread / work), [&](Ranges& ranges) {
      const ScratchMemory kept(kept_bytes());
      for (int64_t begin, end; ranges.next(begin, end);) {
        if (in_row == 1) call(begin, end, 0, launch_.columns, kept, operands_);
        else call_on_parts(begin, end, in_row, kept);
      }
    });
  }

 private:
  using Strides = int64_t[max_row_dimensions];

  void add(const OperandLayout& layout, const Tensor& tensor) {
    for (size_t d = 0; d < layout.dimensions.size(); ++d)
      if (const int bits = layout.dimensions[d]; bits != 0 && (bits & (bits - 1)) == 0)
        sizes_[std::countr_zero(static_cast<unsigned>(bits))] = tensor.impl()->sizes[d];
    places_[count_] = &layout;
    tensors_[count_] = &tensor;
    ++count_;
  }

  void check_indices(size_t operand) const {
    const Tensor& tensor = *tensors_[operand];
    const Tensor numbers = make_tensor(tensor.impl()->sizes, Dtype::i64);
    copy_elements(tensor, numbers);
    int64_t count = 1;
    for (const int64_t size : tensor.impl()->sizes) count *= size;
    const auto* const first = reinterpret_cast<const int64_t*>(numbers.impl()->data());
    const auto* const wrong =
        std::find_if(first, first + count, [&](int64_t layout) { return layout < 0 || layout >= columns_; });
    if (wrong == first + count) return;
    try {
      throw_index_error(*wrong, columns_);
    } catch (const UnlocatedError& error) {
      throw OperandError(error.what(), operand);
    }
  }

  // Strides along the loop dimensions; 0 along those that the operand does not have.
  void find_strides(size_t k) {
    const TensorImpl& impl = *tensors_[k]->impl();
    std::fill_n(strides_[k], max_row_dimensions, 0);
    for (size_t d = 0; d < places_[k]->dimensions.size(); ++d) {
      int64_t stride = impl.strides[d];
      for (int dimension = kernel_.kernel_.dimensions; dimension-- > 0;) {
        if ((places_[k]->dimensions[d] >> dimension & 1) == 0) continue;
        strides_[k][dimension] = stride;
        stride *= sizes_[dimension];
      }
    }
  }

  // The first dimension from which on an operand is contiguous; one past the last if neighbours are not adjacent.
  int first_dense(const Strides& strides) const {
    int first = kernel_.kernel_.dimensions;
    for (int64_t next = 1; first > 0 && (strides[first - 1] == next || sizes_[first - 1] == 1); --first)
      next *= std::max<int64_t>(sizes_[first - 1], 1);
    return first;
  }

  void find_columns() {
    const bool is_fixed = kernel_.kernel_.has_row_sums || kernel_.kernel_.has_column_sums;
    const int last = kernel_.kernel_.dimensions - 1;
    int first = kernel_.kernel_.first_column_dimension;
    for (size_t k = 0; k < count_; ++k) {
      if (places_[k]->extent != Extent::full || places_[k]->is_column_sum) continue;
      int dense = first_dense(strides_[k]);
      if (dense > (is_fixed ? first : last)) {
        make_dense(k);
        dense = first_dense(strides_[k]);
      }
      if (!is_fixed) first = std::max(first, dense);
    }
    first_column_ = first;
    for (int d = first; d <= last; ++d) columns_ *= sizes_[d];
  }

  // Columns that are not contiguous are read from a copy.
  void make_dense(size_t k) {
    const TensorImpl& impl = *tensors_[k]->impl();
    copies_[k] = make_tensor(impl.sizes, impl.dtype);
    copy_elements(*tensors_[k], copies_[k]);
    tensors_[k] = &copies_[k];
    find_strides(k);
  }

  // Merges row dimensions that are contiguous in every operand.
  void find_rows() {
    launch_ = {};
    launch_.columns = columns_;
    int64_t row_strides[max_operands][max_row_dimensions];
    int merged = 0;
    for (int d = first_column_; d-- > 0;) {
      bool fits = merged > 0;
      for (size_t k = 0; fits && k < count_; ++k)
        fits = strides_[k][d] == row_strides[k][merged - 1] * launch_.row_sizes[merged - 1];
      if (fits) {
        launch_.row_sizes[merged - 1] *= sizes_[d];
        continue;
      }
      launch_.row_sizes[merged] = sizes_[d];
      for (size_t k = 0; k < count_; ++k) row_strides[k][merged] = strides_[k][d];
      ++merged;
    }
    launch_.row_dimensions = merged;
    std::reverse(launch_.row_sizes, launch_.row_sizes + merged);
    for (int d = 0; d < merged; ++d) rows_ *= launch_.row_sizes[d];
    for (size_t k = 0; k < count_; ++k) {
      operands_[k].data = tensors_[k]->impl()->data();
      const int64_t item = size_of(places_[k]->dtype);
      for (int d = 0; d < merged; ++d) operands_[k].strides[d] = row_strides[k][merged - 1 - d] * item;
      operands_[k].is_streamed = is_streamed(k);
      streams_ = streams_ || operands_[k].is_streamed;
    }
    launch_.numbers = kernel_.kernel_.numbers.data();
    launch_.kept_stride = rounded(columns_ * 8);
    if (kernel_.kernel_.has_row_sums) launch_.ahead = std::clamp(columns_ * 4, launch_.ahead, max_ahead);
    else if (streams_) launch_.ahead = max_ahead;
  }

  // A result that overwrites an input has just been read, and is in the cache anyway.
  bool is_streamed(size_t k) const {
    if (k < kernel_.inputs_.size() || places_[k]->extent != Extent::full || places_[k]->is_column_sum) return false;
    if (rows_ * columns_ * size_of(places_[k]->dtype) < streamed_bytes) return false;
    return std::none_of(tensors_, tensors_ + kernel_.inputs_.size(),
                        [&](const Tensor* input) { return input->impl()->data() == tensors_[k]->impl()->data(); });
  }

  int64_t kept_bytes() const { return kernel_.schedule_.kept_rows * launch_.kept_stride; }

  /// Divides each row into `in_row` parts, which are numbered consecutively.
  void call_on_parts(int64_t begin, int64_t end, int64_t in_row, const ScratchMemory& kept) {
    while (begin < end) {
      const int64_t row = begin / in_row, first = begin % in_row, count = std::min(in_row - first, end - begin),
                    at = first * block_columns;
      call(row, row + 1, at, std::min(count * block_columns, launch_.columns - at), kept, operands_);
      begin += count;
    }
  }
  void call(int64_t first, int64_t last, int64_t column, int64_t columns, const ScratchMemory& kept,
            const Operand* operands) const {
    Launch launch = launch_;
    launch.columns = columns;
    launch.operands = operands;
    launch.kept = kept.data();
    Operand moved[max_operands];
    if (column > 0) {
      for (size_t k = 0; k < count_; ++k) {
        moved[k] = operands[k];
        if (places_[k]->extent == Extent::full) moved[k].data += column * size_of(places_[k]->dtype);
      }
      launch.operands = moved;
    }
    kernel_.code_.function(launch, first, last);
    if (streams_) finish_streamed_stores();
  }

  // Rows are added up in blocks that depend on their number alone, each as in ColumnSums, and the blocks pairwise. For
  // n sums of a block, as many rows wait to be joined as n has bits, in addition to the current one.
  void run_with_column_sums() {
    const int64_t per_block = std::max<int64_t>(16, (rows_ + 63) / 64),
                  blocks = std::max<int64_t>(1, (rows_ + per_block - 1) / per_block);
    const int64_t waiting = std::bit_width(static_cast<uint64_t>(per_block / kernels::summed_rows)) + 1;
    int64_t offsets[max_operands], bytes = 0, sums = 0;
    for (size_t k = 0; k < count_; ++k) {
      offsets[k] = bytes;
      if (!places_[k]->is_column_sum) continue;
      bytes += rounded(columns_ * places_[k]->lane_bytes);
      ++sums;
    }
    const ScratchMemory of_blocks(blocks * std::max<int64_t>(bytes, 64));
    parallel_ranges(blocks, std::max<int64_t>(1, min_elements_per_thread / std::max<int64_t>(per_block * columns_, 1)),
                    [&](Ranges& ranges) {
                      const int64_t row_bytes = sums * waiting * launch_.kept_stride;
                      const ScratchMemory kept(kept_bytes()), of_rows(std::max<int64_t>(row_bytes, 64));
                      Operand operands[max_operands];
                      char* next = of_rows.data();
                      for (size_t k = 0; k < count_; ++k) {
                        operands[k] = operands_[k];
                        if (!places_[k]->is_column_sum) continue;
                        operands[k] = {next, {}};
                        next += waiting * launch_.kept_stride;
                      }
                      for (int64_t begin, end; ranges.next(begin, end);)
                        for (int64_t block = begin; block < end; ++block) {
                          std::memset(of_rows.data(), 0, static_cast<size_t>(row_bytes));
                          if (rows_ > 0)
                            call(block * per_block, std::min(rows_, (block + 1) * per_block), 0, columns_, kept,
                                 operands);
                          for (size_t k = 0; k < count_; ++k)
                            if (places_[k]->is_column_sum)
                              std::memcpy(of_blocks.data() + block * bytes + offsets[k], operands[k].data,
                                          static_cast<size_t>(columns_ * places_[k]->lane_bytes));
                        }
                    });
    for (size_t k = kernel_.inputs_.size(); k < count_; ++k)
      if (places_[k]->is_column_sum) finish(k, of_blocks.data() + offsets[k], bytes, blocks);
  }

  void add_rows(size_t k, char* to, const char* from) const {
    const Dtype lanes = dtype_of_lanes(places_[k]->dtype);
    if (lanes == Dtype::f32) add_numbers<float>(to, from, columns_);
    else if (lanes == Dtype::f64) add_numbers<double>(to, from, columns_);
    else add_numbers<uint64_t>(to, from, columns_);
  }

  void finish(size_t k, char* sums, int64_t stride, int64_t blocks) {
    for (int64_t step = 1; step < blocks; step *= 2)
      for (int64_t block = 0; block + step < blocks; block += 2 * step)
        add_rows(k, sums + block * stride, sums + (block + step) * stride);
    const Tensor& result = results_[k - kernel_.inputs_.size()];
    if (columns_ > 0)
      copy_elements(borrow_tensor(sums, result.impl()->sizes, dtype_of_lanes(places_[k]->dtype)), result);
  }

  const FusionKernel& kernel_;
  std::span<const Tensor> results_;
  size_t count_ = 0;
  int first_column_ = 0;
  bool streams_ = false;
  int64_t columns_ = 1, rows_ = 1;
  int64_t sizes_[max_row_dimensions] = {};
  Strides strides_[max_operands];
  const OperandLayout* places_[max_operands];
  const Tensor* tensors_[max_operands];
  Tensor copies_[max_operands];
  Operand operands_[max_operands];
  Launch launch_;
};

FusionKernel::FusionKernel(codegen::Kernel kernel, codegen::Schedule schedule, std::string text,
                           codegen::CompiledKernel code)
    : kernel_(std::move(kernel)), schedule_(std::move(schedule)), text_(std::move(text)), code_(std::move(code)) {
  const auto layout = [](const codegen::KernelOperand& operand) {
    return OperandLayout{operand.dtype,    operand.extent,     operand.is_column_sum,
                         operand.is_place, operand.dimensions, size_of(dtype_of_lanes(operand.dtype)),
                         operand.row_loop};
  };
  for (const codegen::KernelOperand& operand : kernel_.inputs) inputs_.push_back(layout(operand));
  for (const codegen::KernelOperand& operand : kernel_.outputs) outputs_.push_back(layout(operand));
}

// A row loop reads a row's elements at an index before it writes there.
bool FusionKernel::may_overwrite(size_t result, size_t argument) const {
  const OperandLayout &to = outputs_.at(result), &from = inputs_.at(argument);
  if (to.extent != Extent::full || from.extent != Extent::full || to.is_column_sum || from.is_place) return false;
  return from.row_loop >= 0 && from.row_loop <= to.row_loop;
}

void FusionKernel::accept(FusedKernelVisitor& visitor) const { visitor.visit(*this); }

std::string FusionKernel::scalar_text(std::string_view name) const {
  return codegen::scalar_kernel(kernel_, schedule_, std::string(name), false);
}

std::string FusionKernel::ir_text() const {
  return codegen::kernel_ir_text(kernel_) + codegen::schedule_text(schedule_);
}

void FusionKernel::run(Arguments arguments, std::span<const Tensor> results) const {
  Call(*this, arguments, results).run();
}

}  // namespace fulgurite::fuser
