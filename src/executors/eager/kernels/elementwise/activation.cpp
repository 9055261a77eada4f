// Activation functions and the backward of gelu.
#include <cmath>

#include "codegen/device_lib/activations.h"
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr double inverse_sqrt_2 = 0.70710678118654752440;

struct Relu {
  FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return maximum(x, Floats(0.f)); }
  template <Number T>
  static T apply(T x, const RowParameters&) {
    return x > 0 || x != x ? x : T(0);
  }
};
struct Silu {
  FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return silu(x); }
  static double apply(double x, const RowParameters&) { return x / (1 + std::exp(-x)); }
};
struct Gelu {
  FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return FULGURITE_KERNELS::gelu(x); }
  static double apply(double x, const RowParameters&) { return x * 0.5 * std::erfc(-x * inverse_sqrt_2); }
};
struct GeluTanh {
  FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return gelu_tanh(x); }
  static double apply(double x, const RowParameters&) {
    return x / (1 + std::exp(-2 * sqrt_2_over_pi * x * (1 + tanh_cubic * x * x)));
  }
};
struct GeluBackward {
  FULGURITE_LANES apply(const Floats& g, const Floats& x, const RowParameters&) {
    return FULGURITE_KERNELS::gelu_backward(g, x);
  }
  static double apply(double g, double x, const RowParameters&) {
    return g * (0.5 * std::erfc(-x * inverse_sqrt_2) + x * inverse_sqrt_2_pi * std::exp(-0.5 * x * x));
  }
};
struct GeluTanhBackward {
  FULGURITE_LANES apply(const Floats& g, const Floats& x, const RowParameters&) { return gelu_tanh_backward(g, x); }
  static double apply(double g, double x, const RowParameters&) {
    const double s = 1 / (1 + std::exp(-2 * sqrt_2_over_pi * x * (1 + tanh_cubic * x * x)));
    return g * (s + x * s * (1 - s) * 2 * sqrt_2_over_pi * (1 + 3 * tanh_cubic * x * x));
  }
};

void relu(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_unary_row<Relu>(dtype), dtype), {&arguments[0]}, results[0]);
}
void silu(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_floating_unary_row<Silu>(dtype), dtype, costly), {&arguments[0]}, results[0]);
}
void gelu(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  const Row row =
      arguments[1].string() == "tanh" ? find_floating_unary_row<GeluTanh>(dtype) : find_floating_unary_row<Gelu>(dtype);
  run_pointwise(uniform(row, dtype, costly), {&arguments[0]}, results[0]);
}
void gelu_backward(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  const Row row = arguments[2].string() == "tanh" ? find_floating_binary_row<GeluTanhBackward>(dtype)
                                                  : find_floating_binary_row<GeluBackward>(dtype);
  run_pointwise(uniform(row, dtype, costly), {&arguments[0], &arguments[1]}, results[0]);
}

constexpr KernelEntry table[] = {
    {&relu_symbol, relu},
    {&silu_symbol, silu},
    {&gelu_symbol, gelu},
    {&prims_gelu_backward_symbol, gelu_backward},
};

}  // namespace

KernelTable activation_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
