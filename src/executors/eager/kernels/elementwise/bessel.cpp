// Pointwise functions of one and two operands that need a series or an integral: Bessel functions, the scaled error
// function, incomplete gamma functions, Hurwitz' zeta function. Computed in f64 whatever the dtype.
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "executors/eager/kernels/elementwise/bessel_math.h"
#include "executors/eager/kernels/elementwise/gamma_math.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

template <double (*function)(double)>
struct OfOne {
  static float apply(float x, const RowParameters&) { return static_cast<float>(function(x)); }
  static double apply(double x, const RowParameters&) { return function(x); }
};
template <double (*function)(double, double)>
struct OfTwo {
  static float apply(float a, float b, const RowParameters&) { return static_cast<float>(function(a, b)); }
  static double apply(double a, double b, const RowParameters&) { return function(a, b); }
};

template <double (*function)(double)>
void of_one(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_floating_unary_row<OfOne<function>>(dtype), dtype, very_costly), {&arguments[0]},
                results[0]);
}
template <double (*function)(double, double)>
void of_two(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_floating_binary_row<OfTwo<function>>(dtype), dtype, very_costly),
                {&arguments[0], &arguments[1]}, results[0]);
}

constexpr KernelEntry table[] = {
    {&i0_symbol, of_one<bessel_i0>},
    {&special_i0e_symbol, of_one<scaled_bessel_i0>},
    {&special_i1_symbol, of_one<bessel_i1>},
    {&special_i1e_symbol, of_one<scaled_bessel_i1>},
    {&special_bessel_j0_symbol, of_one<bessel_j0>},
    {&special_bessel_j1_symbol, of_one<bessel_j1>},
    {&special_bessel_y0_symbol, of_one<bessel_y0>},
    {&special_bessel_y1_symbol, of_one<bessel_y1>},
    {&special_modified_bessel_k0_symbol, of_one<bessel_k0>},
    {&special_modified_bessel_k1_symbol, of_one<bessel_k1>},
    {&special_scaled_modified_bessel_k0_symbol, of_one<scaled_bessel_k0>},
    {&special_scaled_modified_bessel_k1_symbol, of_one<scaled_bessel_k1>},
    {&special_erfcx_symbol, of_one<scaled_erfc>},
    {&special_ndtri_symbol, of_one<normal_quantile>},
    {&igamma_symbol, of_two<lower_gamma>},
    {&igammac_symbol, of_two<upper_gamma>},
    {&special_zeta_symbol, of_two<hurwitz_zeta>},
    {&prims_standard_gamma_grad_symbol, of_two<gamma_sample_slope>},
};

}  // namespace

KernelTable bessel_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
