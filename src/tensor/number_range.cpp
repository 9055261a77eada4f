#include "tensor/number_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/text/text.h"
#include "tensor/half.h"

namespace fulgurite {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
double largest_of() {
  return static_cast<double>(std::numeric_limits<T>::max());
}
template <class T>
double smallest_of() {
  return static_cast<double>(std::numeric_limits<T>::min());
}

double rounded(double number, Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return number;
    case Dtype::bf16: return bf16_to_float(float_to_bf16(static_cast<float>(number)));
    case Dtype::f16: return f16_to_float(float_to_f16(static_cast<float>(number)));
    default: return static_cast<float>(number);
  }
}

std::string range_of(Dtype dtype) {
  if (is_floating(dtype)) return text::cat(smallest_number(dtype), " to ", largest_number(dtype));
  return text::cat(
      static_cast<int64_t>(smallest_number(dtype)), " to ",
      dtype == Dtype::i64 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(largest_number(dtype)));
}

/// The neighbour of a 16-bit float: numbers of one sign are ordered as their bits are.
uint16_t neighbour(uint16_t bits, bool up) {
  if ((bits & 0x7fff) == 0) return up ? 0x0001 : 0x8001;
  const bool is_negative = (bits & 0x8000) != 0;
  return static_cast<uint16_t>(up == is_negative ? bits - 1 : bits + 1);
}

/// The next number of a dtype after one of its numbers.
double next(double number, Dtype dtype, bool up) {
  const auto narrow = static_cast<float>(number);
  switch (dtype) {
    case Dtype::f64: return std::nextafter(number, up ? infinity : -infinity);
    case Dtype::bf16: return bf16_to_float(neighbour(float_to_bf16(narrow), up));
    case Dtype::f16: return f16_to_float(neighbour(float_to_f16(narrow), up));
    default: return std::nextafter(narrow, static_cast<float>(up ? infinity : -infinity));
  }
}

}  // namespace

double largest_number(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return largest_of<double>();
    case Dtype::f32: return largest_of<float>();
    case Dtype::bf16: return bf16_to_float(0x7f7f);
    case Dtype::f16: return f16_to_float(0x7bff);
    case Dtype::i64: return largest_of<int64_t>();
    case Dtype::i32: return largest_of<int32_t>();
    case Dtype::i16: return largest_of<int16_t>();
    case Dtype::i8: return largest_of<int8_t>();
    case Dtype::u8: return largest_of<uint8_t>();
    case Dtype::boolean: break;
  }
  return 1;
}

double smallest_number(Dtype dtype) {
  if (is_floating(dtype)) return -largest_number(dtype);
  switch (dtype) {
    case Dtype::i64: return smallest_of<int64_t>();
    case Dtype::i32: return smallest_of<int32_t>();
    case Dtype::i16: return smallest_of<int16_t>();
    case Dtype::i8: return smallest_of<int8_t>();
    default: return 0;
  }
}

bool overflows(double number, Dtype dtype) {
  if (dtype == Dtype::f32) return std::isfinite(number) && std::fabs(number) > largest_number(dtype);
  if (is_floating(dtype) || dtype == Dtype::boolean) return false;
  // The number after the largest i64 is its nearest f64; comparisons with NaN are false.
  const double end = dtype == Dtype::i64 ? 0x1p63 : largest_number(dtype) + 1;
  return !(number >= smallest_number(dtype) && number < end);
}

bool overflows(int64_t number, Dtype dtype) {
  if (is_floating(dtype) || dtype == Dtype::boolean || dtype == Dtype::i64) return false;
  const auto largest = static_cast<int64_t>(largest_number(dtype));
  const int64_t smallest = dtype == Dtype::u8 ? -largest : static_cast<int64_t>(smallest_number(dtype));
  return number < smallest || number > largest;
}

std::string does_not_fit(double number, Dtype dtype) {
  return text::cat(number, " does not fit into ", dtype, ", which holds ", range_of(dtype));
}

std::string does_not_fit(int64_t number, Dtype dtype) {
  return text::cat(number, " does not fit into ", dtype, ", which holds ", range_of(dtype));
}

NumberInterval numbers_between(double low, double high, Dtype dtype) {
  double least = rounded(low, dtype);
  if (least < low) least = next(least, dtype, true);
  const double most = next(rounded(high, dtype), dtype, false);
  return {least, std::max(least, most)};
}

}  // namespace fulgurite
