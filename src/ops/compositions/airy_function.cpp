// The Airy function as a composition of operators.
#include <cmath>
#include <numbers>
#include <span>

#include <fulgurite/error.h>
#include <fulgurite/special_functions.h>

#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

// Polynomials in u from -1 to 1, interpolated at Chebyshev's points in 60 digits.

constexpr double lower_end = -4, upper_end = 2;

/// Ai(x) from x = -4 to 2.
constexpr double near_zero[] = {
    0.535560883292352119,     -0.0304817013499355168,   -2.41002397481558445,    2.45574652684047008,
    1.73893415307432603,      -4.35861830307840269,     1.68849162823437848,     2.05187587761701824,
    -2.3728414078121515,      0.376699876127746746,     0.852846904115378558,    -0.613245610095319914,
    0.0189035944892953823,    0.182987683029437468,     -0.0919107885423244888,  -0.00541190742103343229,
    0.0240327630226641821,    -0.00894431656656038409,  -0.00118435233919126907, 0.00213247997554118848,
    -0.000607494333250199056, -0.000121512081737164351, 0.000136497151027002414, -0.0000305932337220644674,
    -8.20575299771377259e-6,  6.85500655869634721e-6,   -1.1317719509106101e-6,  -5.32741816282401659e-7,
    2.46564165796706968e-7,   9.65803696882359107e-9,   -1.58391445874176507e-8};
/// 2 sqrt(pi) x^(1/4) exp(z) Ai(x) in 1 / z, from 0 to its value at x = 2, for z = 2/3 x^(3/2).
constexpr double decaying[] = {
    0.983679282828042963,     -0.0146134587240235157,    0.00141320147170295758,  -0.000227852213664799082,
    0.0000484633405338296604, -0.0000123543913694774904, 3.58783296890951534e-6,  -1.1510179227385574e-6,
    3.99708800015789544e-7,   -1.48175258155146589e-7,   5.80203413714360344e-8,  -2.35984271884001376e-8,
    9.98470047006415701e-9,   -4.91624619044423492e-9,   2.41711286397186415e-9,  -2.8169862263541069e-10,
    -7.59820185311206076e-11, -9.13153057415633356e-10,  6.20074151245346688e-10, 3.4705645407553156e-10,
    -2.49912145392628423e-10, -1.32706019641423455e-10,  8.42033022163405211e-11};
/// P in 1 / z^2 from 0 to its value at 4, for sqrt(pi) x^(1/4) Ai(-x) = cos(z - pi/4) P + sin(z - pi/4) Q / z.
constexpr double in_phase[] = {
    0.999363720981151013,    -0.000620994141801941598, 0.0000142587077066518748, -9.05452972019624222e-7,
    1.00421367058879864e-7,  -1.59251341574743978e-8,  3.24195731306472544e-9,   -7.93813500105614836e-10,
    2.22565086154168684e-10, -6.96436403087974897e-11, 2.70585362979606504e-11,  -1.10024428624331341e-11,
    9.30512127048602274e-13, 2.21036302454874965e-13,  2.01791986776085323e-12,  -1.0992152516140823e-12};
/// Q likewise.
constexpr double out_of_phase[] = {
    0.0688085741766542474,   -0.000607131684886168425, 0.0000260111270985436243, -2.32470076462856036e-6,
    3.22973531719397497e-7,  -6.0301220053289506e-8,   1.39209867935448169e-8,   -3.77142051971591358e-9,
    1.14520604003390102e-9,  -3.82861046372468631e-10, 1.65455604077963771e-10,  -7.26673769789680778e-11,
    1.63106241381125137e-12, 4.383042353075739e-12,    1.55911080896093517e-11,  -8.85234162304500923e-12};

/// 2/3 x^(3/2).
Tensor exponent_of(const Tensor& x, SourceLocation at) {
  const Tensor root = sqrt(x, at);
  return mul(mul(x, root, at), 2.0 / 3, at);
}
double exponent_of(double x) { return 2.0 / 3 * x * std::sqrt(x); }

/// The polynomial with these coefficients of u, which is -1 at x = `begin` and 1 at x = `end`.
Tensor between(std::span<const double> coefficients, const Tensor& x, double begin, double end, SourceLocation at) {
  const double scale = 2 / (end - begin);
  const Tensor u = add(mul(x, scale, at), -1 - begin * scale, 1, at);
  Tensor sum = full({}, coefficients.back(), {.dtype = Dtype::f64, .device = x.device()}, at);
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = add(mul(sum, u, at), coefficients[i], 1, at);
  return sum;
}

Tensor decaying_airy(const Tensor& x, SourceLocation at) {
  const Tensor z = exponent_of(x, at);
  const Tensor factor = between(decaying, reciprocal(z, at), 0, 1 / exponent_of(upper_end), at);
  const Tensor fall = exp(neg(z, at), at);
  const Tensor width = mul(pow(x, 0.25, at), 2 * std::sqrt(std::numbers::pi), at);
  return mul(div(fall, width, {}, at), factor, at);
}

Tensor oscillating_airy(const Tensor& x, SourceLocation at) {
  const Tensor z = exponent_of(x, at), inverse = reciprocal(z, at);
  const Tensor angle = sub(z, std::numbers::pi / 4, 1, at), small = mul(inverse, inverse, at);
  const double end = 1 / (exponent_of(-lower_end) * exponent_of(-lower_end));
  const Tensor first = mul(cos(angle, at), between(in_phase, small, 0, end, at), at);
  const Tensor slope = mul(between(out_of_phase, small, 0, end, at), inverse, at);
  const Tensor second = mul(sin(angle, at), slope, at);
  const Tensor width = mul(pow(x, 0.25, at), std::sqrt(std::numbers::pi), at);
  return div(add(first, second, 1, at), width, {}, at);
}

}  // namespace

// Each part is given arguments that it is made for, so that no gradient of another one is infinite.
Tensor special::airy_ai(const Tensor& input, SourceLocation at) {
  if (!input.defined()) throw UserError("special.airy_ai: the input is an undefined tensor", at);
  const Dtype dtype = is_floating(input.dtype()) ? input.dtype() : default_dtype();
  const Tensor x = input.to(Dtype::f64, at);
  const Tensor is_high = gt(x, upper_end, at), is_low = lt(x, lower_end, at);
  const Tensor high = where(is_high, x, upper_end, at), low = where(is_low, x, lower_end, at);
  const Tensor is_far = eq(x, -INFINITY, at);
  const Tensor is_outside = logical_or(is_high, is_low, at);
  const Tensor middle = where(is_outside, 0, x, at);
  const Tensor inner = between(near_zero, middle, lower_end, upper_end, at);
  const Tensor upper = where(is_high, decaying_airy(high, at), inner, at);
  const Tensor bounded = neg(where(is_far, lower_end, low, at), at);
  const Tensor lower = where(is_low, oscillating_airy(bounded, at), upper, at);
  return where(is_far, 0, lower, at).to(dtype, at);
}

}  // namespace fulgurite
