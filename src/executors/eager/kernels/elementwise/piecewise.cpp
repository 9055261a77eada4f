// Decomposable pointwise operators computed in one pass: piecewise activations and a few functions of two operands.
#include <cmath>

#include "codegen/device_lib/math.h"
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

FULGURITE_INLINE Floats number(double value) { return Floats(static_cast<float>(value)); }

struct Hardswish {
  FULGURITE_LANES apply(const Floats& x, const RowParameters&) {
    const Floats bent = (x * (x + number(3))) / number(6);
    return select(x >= number(3), x, select(x <= number(-3), x * number(0), bent));
  }
  static double apply(double x, const RowParameters&) { return x >= 3 ? x : x <= -3 ? x * 0 : x * (x + 3) / 6; }
};
struct Hardsigmoid {
  FULGURITE_LANES apply(const Floats& x, const RowParameters&) {
    return (minimum(maximum(x, number(-3)), number(3)) + number(3)) / number(6);
  }
  static double apply(double x, const RowParameters& p) {
    return (Minimum::apply(Maximum::apply(x, -3.0, p), 3.0, p) + 3) / 6;
  }
};
struct Hardshrink {
  FULGURITE_LANES apply(const Floats& x, const RowParameters& p) {
    return select((x >= number(-p.number)) & (x <= number(p.number)), number(0), x);
  }
  static double apply(double x, const RowParameters& p) { return x >= -p.number && x <= p.number ? 0 : x; }
};
struct Softshrink {
  FULGURITE_LANES apply(const Floats& x, const RowParameters& p) {
    const Floats width = number(p.number);
    return select(x > width, x - width, select(x < -width, x + width, x * number(0)));
  }
  static double apply(double x, const RowParameters& p) {
    return x > p.number ? x - p.number : x < -p.number ? x + p.number : x * 0;
  }
};
struct LeakyRelu {
  FULGURITE_LANES apply(const Floats& x, const RowParameters& p) {
    return select(x > number(0), x, x * number(p.number));
  }
  static double apply(double x, const RowParameters& p) { return x > 0 ? x : x * p.number; }
};
struct Threshold {
  FULGURITE_LANES apply(const Floats& x, const RowParameters& p) {
    return select(x <= number(p.number), number(p.second), x);
  }
  static double apply(double x, const RowParameters& p) { return x <= p.number ? p.second : x; }
};
struct NanToNum {
  FULGURITE_LANES apply(const Floats& x, const RowParameters& p) {
    const Floats infinity = number(INFINITY);
    const Floats lowered = select(x == infinity, number(p.second), x);
    return select(x != x, number(p.number), select(x == -infinity, number(p.third), lowered));
  }
  static double apply(double x, const RowParameters& p) {
    return x != x ? p.number : x == INFINITY ? p.second : x == -INFINITY ? p.third : x;
  }
};
struct Frac {
  FULGURITE_LANES apply(const Floats& x, const RowParameters&) { return x - trunc(x); }
  static double apply(double x, const RowParameters&) { return x - std::trunc(x); }
};

struct Hypot {
  FULGURITE_LANES apply(const Floats& a, const Floats& b, const RowParameters&) {
    const Floats x = abs(a), y = abs(b), large = maximum(x, y), infinity = number(INFINITY);
    const Ints is_infinite = (x == infinity) | (y == infinity);
    const Floats ratio = minimum(x, y) / select((large == number(0)) | is_infinite, number(1), large);
    return select(is_infinite, infinity, large * sqrt(ratio * ratio + number(1)));
  }
  static double apply(double a, double b, const RowParameters&) {
    const double x = std::fabs(a), y = std::fabs(b);
    if (x == INFINITY || y == INFINITY) return INFINITY;
    const double large = x > y || x != x ? x : y, small = x < y || x != x ? x : y,
                 ratio = small / (large == 0 ? 1 : large);
    return large * std::sqrt(ratio * ratio + 1);
  }
};
struct LogAddExp {
  FULGURITE_LANES apply(const Floats& x, const Floats& y, const RowParameters&) {
    const Floats gap = select(x == y, number(0), x - y);  // both may be the same infinity
    return maximum(x, y) + log1p(exp_of_small(-abs(gap)));
  }
  static double apply(double x, double y, const RowParameters&) {
    const double gap = x == y ? 0 : x - y;
    return (x > y || x != x ? x : y) + std::log1p(std::exp(-std::fabs(gap)));
  }
};

// Shift counts outside [0, bits) shift everything out; `integer` is the number of bits.
struct ShiftLeft {
  template <Integer T>
  static T apply(T x, T count, const RowParameters& p) {
    const bool is_out = count < 0 || count >= p.integer;
    const auto shifted = static_cast<Unsigned<T>>(x) << (is_out ? 0 : count);
    return is_out ? T(0) : static_cast<T>(shifted);
  }
};
struct ShiftRight {
  template <Integer T>
  static T apply(T x, T count, const RowParameters& p) {
    const bool is_out = count < 0 || count >= p.integer;
    return x >> (is_out ? static_cast<T>(8 * sizeof(T) - 1) : count);
  }
};

template <class Operation>
void of_one(Arguments arguments, std::span<const Tensor> results, RowParameters parameters = {}) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_floating_unary_row<Operation>(dtype), dtype), {&arguments[0]}, results[0], parameters);
}
template <class Operation>
void plain(Arguments arguments, std::span<const Tensor> results) {
  of_one<Operation>(arguments, results);
}
template <class Operation>
void with_number(Arguments arguments, std::span<const Tensor> results) {
  RowParameters parameters;
  parameters.number = arguments[1].floating().hint();
  of_one<Operation>(arguments, results, parameters);
}
void threshold(Arguments arguments, std::span<const Tensor> results) {
  RowParameters parameters;
  parameters.number = arguments[1].floating().hint();
  parameters.second = arguments[2].floating().hint();
  of_one<Threshold>(arguments, results, parameters);
}
double largest_number(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 0x1.fffffffffffffp1023;
    case Dtype::bf16: return 0x1.fep127;
    case Dtype::f16: return 65504;
    default: return 0x1.fffffep127;
  }
}
void nan_to_num(Arguments arguments, std::span<const Tensor> results) {
  const auto given = [&](size_t i, double otherwise) {
    return arguments[i].is_none() ? otherwise : arguments[i].floating().hint();
  };
  const double largest = largest_number(results[0].impl()->dtype);
  RowParameters parameters;
  parameters.number = given(1, 0);
  parameters.second = given(2, largest);
  parameters.third = given(3, -largest);
  of_one<NanToNum>(arguments, results, parameters);
}
template <class Operation, int64_t grain>
void of_two(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  run_pointwise(uniform(find_floating_binary_row<Operation>(dtype), dtype, grain), {&arguments[0], &arguments[1]},
                results[0]);
}
template <class Operation>
void shift(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = results[0].impl()->dtype;
  RowParameters parameters;
  parameters.integer = size_of(dtype) * 8;
  const Row row = dtype == Dtype::i64 ? binary_row<Operation, int64_t> : binary_row<Operation, int32_t>;
  run_pointwise(uniform(row, dtype), {&arguments[0], &arguments[1]}, results[0], parameters);
}

bool is_floating_tensor(Arguments arguments) { return is_floating(arguments[0].tensor().dtype()); }
bool are_tensors(Arguments arguments) { return arguments[0].is_tensor() && arguments[1].is_tensor(); }

constexpr KernelEntry table[] = {
    {&hardswish_symbol, plain<Hardswish>},
    {&hardsigmoid_symbol, plain<Hardsigmoid>},
    {&hardshrink_symbol, with_number<Hardshrink>},
    {&softshrink_symbol, with_number<Softshrink>},
    {&leaky_relu_symbol, with_number<LeakyRelu>},
    {&threshold_symbol, threshold, is_floating_tensor},
    {&nan_to_num_symbol, nan_to_num, is_floating_tensor},
    {&frac_symbol, plain<Frac>},
    {&hypot_symbol, of_two<Hypot, cheap>},
    {&logaddexp_symbol, of_two<LogAddExp, costly>},
    {&bitwise_left_shift_symbol, shift<ShiftLeft>, are_tensors},
    {&bitwise_right_shift_symbol, shift<ShiftRight>, are_tensors},
};

}  // namespace

KernelTable piecewise_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
