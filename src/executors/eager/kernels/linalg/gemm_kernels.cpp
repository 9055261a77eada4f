#include "executors/eager/kernels.h"
#include "executors/onednn/matmul.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Operators that accept only some dimensions leave the checks to their decompositions: a call that those would reject
// is not claimed.
template <int left, int right>
bool takes_dimensions(Arguments arguments) {
  return arguments[0].tensor().ndim() == left && arguments[1].tensor().ndim() == right;
}
bool is_batch_product(Arguments arguments) {
  return takes_dimensions<3, 3>(arguments) &&
         arguments[0].tensor().size(0).hint() == arguments[1].tensor().size(0).hint();
}
bool has_number_factors(Arguments arguments) { return arguments[3].is_number() && arguments[4].is_number(); }
bool is_sum_of_products(Arguments arguments) {
  return has_number_factors(arguments) && takes_dimensions<2, 2>(arguments.subspan(1));
}
bool is_sum_of_batch_products(Arguments arguments) {
  return has_number_factors(arguments) && is_batch_product(arguments.subspan(1));
}

}  // namespace

KernelTable gemm_kernels() {
  static constexpr KernelEntry table[] = {
      {&matmul_symbol, matmul_kernel},
      {&mm_symbol, matmul_kernel, takes_dimensions<2, 2>},
      {&bmm_symbol, matmul_kernel, is_batch_product},
      {&mv_symbol, matmul_kernel, takes_dimensions<2, 1>},
      {&dot_symbol, matmul_kernel, takes_dimensions<1, 1>},
      {&addmm_symbol, addmm_kernel, is_sum_of_products},
      {&baddbmm_symbol, addmm_kernel, is_sum_of_batch_products},
      {&linear_symbol, linear_kernel},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
