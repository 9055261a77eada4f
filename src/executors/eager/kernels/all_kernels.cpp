#include "executors/eager/kernels.h"
#include "support/containers/first_use.h"
#include "tensor/pending.h"

namespace fulgurite::FULGURITE_KERNELS {

namespace {

// The pointwise ones first.
constexpr size_t pointwise_tables = 5;
struct AllKernels {
  const KernelTable tables[35] = {
      special_kernels(),   bessel_kernels(),        binary_kernels(),       ternary_kernels(),
      piecewise_kernels(), conversion_kernels(),    copy_kernels(),         creation_kernels(),
      random_kernels(),    sum_kernels(),           extremum_kernels(),     variance_kernels(),
      scan_kernels(),      gemm_kernels(),          norm_kernels(),         softmax_kernels(),
      loss_kernels(),      attention_kernels(),     embedding_kernels(),    gather_kernels(),
      scatter_kernels(),   arrange_kernels(),       optimizer_kernels(),    cumulative_kernels(),
      sort_kernels(),      selection_kernels(),     search_kernels(),       convolution_kernels(),
      pooling_kernels(),   interpolation_kernels(), sampling_kernels(),     scatter_reduce_kernels(),
      solving_kernels(),   factorization_kernels(), quantization_kernels(),
  };
  const KernelSet set{tables,           formula_kernels(), copy_elements, multiply_block,  max_few_rows,
                      transpose_matrix, dequantize_rows,   make_chain,    pointwise_tables};
};

}  // namespace

const KernelSet& kernel_set() {
  static constinit FirstUse<AllKernels> all;
  return all.get([] { return AllKernels(); }).set;
}

}  // namespace fulgurite::FULGURITE_KERNELS
