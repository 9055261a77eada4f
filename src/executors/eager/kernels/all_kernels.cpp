#include "executors/eager/kernels.h"
#include "tensor/pending.h"

namespace fulgurite::FULGURITE_KERNELS {

const KernelSet& kernel_set() {
  // The pointwise ones first.
  static const KernelTable tables[] = {
      unary_kernels(),         special_kernels(),      bessel_kernels(),         binary_kernels(),
      comparison_kernels(),    ternary_kernels(),      activation_kernels(),     piecewise_kernels(),
      conversion_kernels(),    copy_kernels(),         creation_kernels(),       random_kernels(),
      sum_kernels(),           extremum_kernels(),     variance_kernels(),       scan_kernels(),
      product_kernels(),       norm_kernels(),         softmax_kernels(),        loss_kernels(),
      attention_kernels(),     embedding_kernels(),    gather_kernels(),         scatter_kernels(),
      arrange_kernels(),       optimizer_kernels(),    cumulative_kernels(),     sort_kernels(),
      selection_kernels(),     search_kernels(),       convolution_kernels(),    pooling_kernels(),
      interpolation_kernels(), sampling_kernels(),     scatter_reduce_kernels(), solving_kernels(),
      factorization_kernels(), quantization_kernels(),
  };
  static const KernelSet set{tables,           copy_elements,   multiply_block, max_few_rows,
                             transpose_matrix, dequantize_rows, make_chain,     8};
  return set;
}

}  // namespace fulgurite::FULGURITE_KERNELS
