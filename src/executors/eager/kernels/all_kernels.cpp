#include "executors/eager/kernels.h"

namespace fulgurite::FULGURITE_KERNELS {

const KernelSet& kernel_set() {
  static const KernelTable tables[] = {
      unary_kernels(),  binary_kernels(),   comparison_kernels(), ternary_kernels(),
      activation_kernels(), copy_kernels(), creation_kernels(),   random_kernels(),
      sum_kernels(),    extremum_kernels(), variance_kernels(),   scan_kernels(),
  };
  static const KernelSet set{tables, copy_elements};
  return set;
}

}  // namespace fulgurite::FULGURITE_KERNELS
