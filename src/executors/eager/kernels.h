#pragma once
#include <memory>
#include <span>

#include "executors/registry.h"

namespace fulgurite {

struct CodeMatrix;
struct GemmBlock;
class PendingValues;

/// One kernel of the eager executor. Files under kernels/ are compiled once for each instruction set, with
/// FULGURITE_KERNELS naming the namespace (kernels_baseline, kernels_avx2, kernels_avx512); each ends with a function
/// that returns its table.
struct KernelEntry {
  const Symbol* symbol;
  Kernel kernel;
  bool (*checker)(Arguments) = nullptr;     // null: claims every call
  int64_t (*scratch)(Arguments) = nullptr;  // bytes of scratch memory; null: none
  bool takes_result_strides = false;        // see Implementation, also for the next one
  bool skips_unread_results = false;
};
using KernelTable = std::span<const KernelEntry>;

/// The kernels compiled for one instruction set: their tables, and the functions that code compiled once calls.
struct KernelSet {
  std::span<const KernelTable> tables;
  /// Kernels made from the formulas in records, for symbols that are in no table.
  KernelTable formulas;
  void (*copy_elements)(const Tensor& source, const Tensor& destination);
  void (*multiply_block)(const GemmBlock&);
  /// The number of rows up to which dot products with the columns of a matrix of so many bytes are faster than a GEMM,
  /// which packs the matrix; at least 16, for which a row's bits do not depend on how many rows there are.
  int64_t (*max_few_rows)(Dtype, int64_t bytes);
  /// Transposes `rows` rows of `columns` elements of 32 bits, `from_step` elements apart.
  void (*transpose_matrix)(const uint32_t* from, int64_t from_step, uint32_t* to, int64_t to_step, int64_t rows,
                           int64_t columns);
  /// Writes the numbers of some rows, contiguous, in a floating-point dtype.
  void (*dequantize_rows)(const CodeMatrix&, int64_t first, int64_t rows, Dtype dtype, void* to);
  /// Creates a chain of deferred pointwise calls; tables before this one hold kernels that are a single pointwise call.
  std::unique_ptr<PendingValues> (*make_chain)();
  size_t pointwise_tables;
};

/// The kernels for the best instruction set of this CPU; chosen at the first call.
const KernelSet& kernel_set();

#ifdef FULGURITE_KERNELS
namespace FULGURITE_KERNELS {

// The tables, one function a file; kernels/all_kernels.cpp concatenates them: add a line here and one there for a new
// file.
KernelTable formula_kernels();
KernelTable special_kernels();
KernelTable bessel_kernels();
KernelTable binary_kernels();
KernelTable ternary_kernels();
KernelTable piecewise_kernels();
KernelTable conversion_kernels();
KernelTable copy_kernels();
KernelTable creation_kernels();
KernelTable random_kernels();
KernelTable sum_kernels();
KernelTable extremum_kernels();
KernelTable variance_kernels();
KernelTable scan_kernels();
KernelTable cumulative_kernels();
KernelTable sort_kernels();
KernelTable selection_kernels();
KernelTable search_kernels();
KernelTable gemm_kernels();
KernelTable quantization_kernels();
KernelTable convolution_kernels();
KernelTable pooling_kernels();
KernelTable interpolation_kernels();
KernelTable sampling_kernels();
KernelTable norm_kernels();
KernelTable softmax_kernels();
KernelTable loss_kernels();
KernelTable attention_kernels();
KernelTable embedding_kernels();
KernelTable gather_kernels();
KernelTable scatter_kernels();
KernelTable scatter_reduce_kernels();
KernelTable arrange_kernels();
KernelTable optimizer_kernels();
KernelTable solving_kernels();
KernelTable factorization_kernels();

/// Copies `source` (any strides and dtype, broadcast to the destination's sizes) into `destination` (any strides and
/// dtype).
void copy_elements(const Tensor& source, const Tensor& destination);
/// Computes one block of a GEMM on this thread.
void multiply_block(const GemmBlock&);
int64_t max_few_rows(Dtype, int64_t bytes);
void transpose_matrix(const uint32_t* from, int64_t from_step, uint32_t* to, int64_t to_step, int64_t rows,
                      int64_t columns);
/// The same for a block of few rows with codes.
void multiply_codes(const GemmBlock&);
void dequantize_rows(const CodeMatrix& codes, int64_t first, int64_t rows, Dtype dtype, void* to);
std::unique_ptr<PendingValues> make_chain();

}  // namespace FULGURITE_KERNELS
#endif

}  // namespace fulgurite
