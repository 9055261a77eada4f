// sum, mean, prod, any, all.
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/reduction/reduce_with.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Elements are converted to bool first if the result is bool: the sum is true if any is nonzero, the product if all
// are.
template <template <class> class Combine, class OfBool>
void reduce_numbers(const ReductionLayout& places, const Tensor& result) {
  const Dtype dtype = result.impl()->dtype;
  if (dtype == Dtype::boolean) return reduce_with<OfBool>(places, result, Same());
  if (dtype == Dtype::f64) return reduce_with<Combine<double>>(places, result, Same());
  if (is_floating(dtype)) return reduce_with<Combine<float>>(places, result, Same());
  reduce_with<Combine<int64_t>>(places, result, Same());
}

void sum(Arguments arguments, std::span<const Tensor> results) {
  reduce_numbers<Sum, Either>(ReductionLayout(arguments[0].tensor(), arguments[1]), results[0]);
}
void product(Arguments arguments, std::span<const Tensor> results) {
  reduce_numbers<Prod, Both>(ReductionLayout(arguments[0].tensor(), arguments[1]), results[0]);
}
void mean(Arguments arguments, std::span<const Tensor> results) {
  const ReductionLayout places(arguments[0].tensor(), arguments[1]);
  if (results[0].impl()->dtype == Dtype::f64) {
    const double count = static_cast<double>(places.count);
    return reduce_with<Sum<double>>(places, results[0], [count](double total) { return total / count; });
  }
  const float count = static_cast<float>(places.count);
  reduce_with<Sum<float>>(places, results[0], [count](float total) { return total / count; });
}
void any(Arguments arguments, std::span<const Tensor> results) {
  reduce_with<Either>(ReductionLayout(arguments[0].tensor(), arguments[1]), results[0], Same());
}
void all(Arguments arguments, std::span<const Tensor> results) {
  reduce_with<Both>(ReductionLayout(arguments[0].tensor(), arguments[1]), results[0], Same());
}

constexpr KernelEntry table[] = {
    {&sum_symbol, sum}, {&mean_symbol, mean}, {&prod_symbol, product}, {&any_symbol, any}, {&all_symbol, all},
};

}  // namespace

KernelTable sum_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
