// Pointwise operators that choose between operands, and those of three operands.
#include <cmath>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// operands[0] is a row of booleans; only bits move, so types of one size share a row function.
template <class T>
void where_row(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  const uint8_t* __restrict condition = static_cast<const uint8_t*>(operands[0]);
  const T* __restrict a = static_cast<const T*>(operands[1]);
  const T* __restrict b = static_cast<const T*>(operands[2]);
  T* __restrict to = static_cast<T*>(result);
  for (int64_t i = 0; i < count; ++i) {
    const T x = a[i], y = b[i];
    to[i] = condition[i] ? x : y;
  }
}
template <>
void where_row<uint32_t>(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  const uint8_t* condition = static_cast<const uint8_t*>(operands[0]);
  const int* a = static_cast<const int*>(operands[1]);
  const int* b = static_cast<const int*>(operands[2]);
  int* to = static_cast<int*>(result);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(to + i, select(load_bytes(condition + i) != Ints(0), load(a + i), load(b + i)));
  for (; i < count; ++i) to[i] = condition[i] ? a[i] : b[i];
}
template <>
void where_row<uint16_t>(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  const uint8_t* condition = static_cast<const uint8_t*>(operands[0]);
  const uint16_t* a = static_cast<const uint16_t*>(operands[1]);
  const uint16_t* b = static_cast<const uint16_t*>(operands[2]);
  uint16_t* to = static_cast<uint16_t*>(result);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store_halves(to + i, select(load_bytes(condition + i) != Ints(0), load_halves(a + i), load_halves(b + i)));
  for (; i < count; ++i) to[i] = condition[i] ? a[i] : b[i];
}
Row find_where_row(Dtype dtype) {
  switch (size_of(dtype)) {
    case 1: return where_row<uint8_t>;
    case 2: return where_row<uint16_t>;
    case 4: return where_row<uint32_t>;
    default: return where_row<uint64_t>;
  }
}
void run_where(const Argument& condition, const Argument& a, const Argument& b, const Tensor& result) {
  const Dtype dtype = result.impl()->dtype;
  run_pointwise({find_where_row(dtype), {Dtype::boolean, dtype, dtype}, dtype}, {&condition, &a, &b}, result);
}
void where(Arguments arguments, std::span<const Tensor> results) {
  run_where(arguments[0], arguments[1], arguments[2], results[0]);
}
void masked_fill(Arguments arguments, std::span<const Tensor> results) {
  run_where(arguments[1], arguments[2], arguments[0], results[0]);
}

struct Clamp {
  FULGURITE_LANES apply(const Floats& x, const Floats& low, const Floats& high, const RowParameters&) {
    return minimum(maximum(x, low), high);
  }
  template <Number T>
  static T apply(T x, T low, T high, const RowParameters& p) {
    return Minimum::apply(Maximum::apply(x, low, p), high, p);
  }
};
void clamp(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  const Argument &x = arguments[0], &low = arguments[1], &high = arguments[2];
  if (low.is_none()) return run_pointwise(uniform(find_binary_row<Minimum>(dtype), dtype), {&x, &high}, results[0]);
  if (high.is_none()) return run_pointwise(uniform(find_binary_row<Maximum>(dtype), dtype), {&x, &low}, results[0]);
  run_pointwise(uniform(find_ternary_row<Clamp>(dtype), dtype), {&x, &low, &high}, results[0]);
}

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
    {&where_symbol, where},
    {&masked_fill_symbol, masked_fill},
    {&clamp_symbol, clamp},
    {&lerp_symbol, lerp},
    {&addcmul_symbol, addcmul, has_number_factor},
    {&addcdiv_symbol, addcdiv, has_number_factor},
};

}  // namespace

KernelTable ternary_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
