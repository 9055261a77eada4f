// Pointwise operators of three operands.
#include <cmath>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

struct Lerp {
  FULGURITE_LANES apply(const Floats& start, const Floats& end, const Floats& weight, const RowParameters&) {
    const Floats difference = end - start;
    return select(abs(weight) < Floats(0.5f), weight * difference + start, end - difference * (Floats(1.f) - weight));
  }
  static double apply(double start, double end, double weight, const RowParameters&) {
    const double difference = end - start;
    return std::fabs(weight) < 0.5 ? weight * difference + start : end - difference * (1 - weight);
  }
};
/// Interpolation by a number, whose difference to 1 is rounded once, as in the decomposition.
struct LerpByNumber {
  FULGURITE_LANES apply(const Floats& start, const Floats& end, const RowParameters& p) {
    const Floats difference = end - start;
    if (p.number < 0.5 && p.number > -0.5) return start + difference * Floats(static_cast<float>(p.number));
    return end - difference * Floats(static_cast<float>(p.second));
  }
  static double apply(double start, double end, const RowParameters& p) {
    const double difference = end - start;
    return p.number < 0.5 && p.number > -0.5 ? start + difference * p.number : end - difference * p.second;
  }
};
void lerp(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  if (arguments[2].is_number()) {
    RowParameters parameters;
    parameters.number = arguments[2].floating().hint();
    parameters.second = 1 - parameters.number;
    return run_pointwise(uniform(find_floating_binary_row<LerpByNumber>(dtype), dtype), {&arguments[0], &arguments[1]},
                         results[0], parameters);
  }
  const Row row = dtype == Dtype::f64 ? ternary_row<Lerp, double> : ternary_row<Lerp, float>;
  run_pointwise(uniform(row, dtype), {&arguments[0], &arguments[1], &arguments[2]}, results[0]);
}

struct AddProduct {
  FULGURITE_LANES apply(const Floats& x, const Floats& a, const Floats& b, const RowParameters& p) {
    return multiply_add(Floats(static_cast<float>(p.number)), a * b, x);
  }
  static double apply(double x, double a, double b, const RowParameters& p) { return multiply_add(p.number, a * b, x); }
  template <Integer T>
  static T apply(T x, T a, T b, const RowParameters& p) {
    using U = Unsigned<T>;
    return static_cast<T>(static_cast<U>(x) + static_cast<U>(p.integer) * (static_cast<U>(a) * static_cast<U>(b)));
  }
};
struct AddQuotient {
  FULGURITE_LANES apply(const Floats& x, const Floats& a, const Floats& b, const RowParameters& p) {
    return multiply_add(Floats(static_cast<float>(p.number)), a / b, x);
  }
  static double apply(double x, double a, double b, const RowParameters& p) { return multiply_add(p.number, a / b, x); }
};

void run_scaled(Row row, Arguments arguments, const Tensor& result) {
  RowParameters parameters;
  parameters.number = arguments[3].floating().hint();
  if (!arguments[3].is_floating()) parameters.integer = arguments[3].integer().hint();
  run_pointwise(uniform(row, result.impl()->dtype), {&arguments[0], &arguments[1], &arguments[2]}, result, parameters);
}
void addcmul(Arguments arguments, std::span<const Tensor> results) {
  run_scaled(find_ternary_row<AddProduct>(results[0].impl()->dtype), arguments, results[0]);
}
void addcdiv(Arguments arguments, std::span<const Tensor> results) {
  run_scaled(
      results[0].impl()->dtype == Dtype::f64 ? ternary_row<AddQuotient, double> : ternary_row<AddQuotient, float>,
      arguments, results[0]);
}
/// These kernels require a scalar factor; a 0-d tensor uses the decomposition.
bool has_number_factor(Arguments arguments) { return arguments[3].is_number(); }

constexpr KernelEntry table[] = {
    {&lerp_symbol, lerp},
    {&addcmul_symbol, addcmul, has_number_factor},
    {&addcdiv_symbol, addcdiv, has_number_factor},
};

}  // namespace

KernelTable ternary_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
