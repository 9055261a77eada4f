#pragma once
#include <initializer_list>

#include "executors/eager/kernels/common/elements.h"
#include "ops/core/argument.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::FULGURITE_KERNELS {

/// The parameters of a row function beside its operands.
struct RowParameters {
  double number = 0, second = 0, third = 0;
  int64_t integer = 0;
  bool* divided_by_zero = nullptr;                 // set by integer divisions
  const struct FormulaProgram* program = nullptr;  // of a formula
};
/// Computes `count` elements from contiguous operands of the types the function reads.
using Row = void (*)(const void* const* operands, void* result, int64_t count, const RowParameters&);

inline constexpr int max_operands = 4;

/// A row function with its types and costs.
struct Pointwise {
  Row row = nullptr;
  Dtype operand_dtypes[max_operands] = {};  // the dtypes the row reads; other operands are converted block by block
  Dtype result_dtype = Dtype::f32;          // the dtype it writes; converted if the result has another
  int64_t grain = 32768;                    // elements worth a thread
  bool can_divide_by_zero = false;          // if the elements are integers
};

/// Computes the result from tensors of any strides, broadcast to its sizes, and numbers.
void run_pointwise(const Pointwise&, std::initializer_list<const Argument*> operands, const Tensor& result,
                   RowParameters parameters = {});

/// Returns true if a row's neighbours are far apart while another dimension is contiguous: a transposed matrix, which
/// is read faster through a copy made in tiles.
bool is_transposed(const TensorImpl&, const Sizes& target);

/// Writes an operand's value in the dtype a row reads.
void write_number(const Argument& number, Dtype dtype, void* to);

}  // namespace fulgurite::FULGURITE_KERNELS
