#pragma once
#include <cstdint>
#include <string>

#include <fulgurite/dtype.h>

namespace fulgurite {

// The ranges of dtypes.

/// The smallest and the largest finite number of a dtype; false and true are 0 and 1.
double smallest_number(Dtype);
double largest_number(Dtype);

/// Returns true if storing the number as this dtype would change it by more than rounding or truncation, by PyTorch's
/// rules: integers hold no NaN, no infinity and nothing outside their range; f32 nothing finite outside its range. bf16
/// and f16 store such numbers as infinities. A negative integer wraps in u8 down to -255. Every number fits a boolean.
bool overflows(double number, Dtype);
bool overflows(int64_t number, Dtype);
/// The error text for such a number: "300 does not fit into u8, which holds 0 to 255".
std::string does_not_fit(double number, Dtype);
std::string does_not_fit(int64_t number, Dtype);

/// The smallest and the largest number of a floating dtype in [low, high), and in the interval between the bounds
/// rounded to the dtype; `least` twice if there is none.
struct NumberInterval {
  double least, most;
};
NumberInterval numbers_between(double low, double high, Dtype);

}  // namespace fulgurite
