// Angle functions of lanes, and special functions of one float computed in double, against the C library's.
#include "executors/eager/kernels/elementwise/special_math.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "codegen/device_lib/angles.h"
#include "executors/ulps.h"

namespace k = fulgurite::FULGURITE_KERNELS;
using k::Floats;
using namespace fulgurite::test;

namespace {

template <class Function, class Truth>
void check_double(const char* name, Function function, Truth truth) {
  const auto each = [&](const float* in, float* out) {
    for (int lane = 0; lane < 16; ++lane) out[lane] = static_cast<float>(function(static_cast<double>(in[lane])));
  };
  check_floats(name, each, truth, 0.51);
}

float random_float(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  const uint32_t bits = state ^ (state >> 13);
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

}  // namespace

TEST("angle functions are within three units in the last place, everywhere") {
  check_lanes(
      "tan", [](Floats x) { return k::tan(x); }, [](double x) { return std::tan(x); }, 3);
  check_lanes(
      "asin", [](Floats x) { return k::asin(x); }, [](double x) { return std::asin(x); }, 3);
  check_lanes(
      "acos", [](Floats x) { return k::acos(x); }, [](double x) { return std::acos(x); }, 3);
  check_lanes(
      "atan", [](Floats x) { return k::atan(x); }, [](double x) { return std::atan(x); }, 3);
}

TEST("functions computed in double are right to the last bit of a float") {
  check_double("sinh", k::sinh_for_float, [](double x) { return std::sinh(x); });
  check_double("cosh", k::cosh_for_float, [](double x) { return std::cosh(x); });
  check_double("asinh", k::asinh_for_float, [](double x) { return std::asinh(x); });
  check_double("acosh", k::acosh_for_float, [](double x) { return std::acosh(x); });
  check_double("atanh", k::atanh_for_float, [](double x) { return std::atanh(x); });
  check_double("erfc", k::erfc_for_float, [](double x) { return std::erfc(x); });
  check_double("lgamma", k::log_gamma_for_float, [](double x) { return std::lgamma(x); });
  expect(std::signbit(k::asinh_for_float(-0.0)) && std::signbit(k::sinh_for_float(-0.0)), "the sign of zero stays");
  // The error function undoes its inverse.
  for (double y = -0.99; y < 1; y += 0.01)
    expect(std::fabs(std::erf(k::erfinv_for_float(y)) - y) < 1e-8, "erfinv at " + std::to_string(y));
}

TEST("digamma and its derivative follow their recurrences and reflections") {
  for (const double x : {0.1, 0.7, 1.0, 3.5, 7.9, 12.0, -0.3, -2.5, -7.2}) {
    expect_less(std::fabs(k::digamma_for_float(x + 1) - k::digamma_for_float(x) - 1 / x),
                1e-12 * (1 + 1 / std::fabs(x)));
    expect(std::fabs(k::trigamma_for_float(x + 1) - k::trigamma_for_float(x) + 1 / (x * x)) <
           1e-11 * (1 + 1 / (x * x)));
  }
  expect_less(std::fabs(k::digamma_for_float(1) + 0.57721566490153286), 1e-13);
  expect_less(std::fabs(k::trigamma_for_float(1) - 1.6449340668482264), 1e-13);
  expect(std::isnan(k::digamma_for_float(-3)) && k::digamma_for_float(0.0) == -INFINITY &&
         k::digamma_for_float(-0.0) == INFINITY);
  expect(k::trigamma_for_float(-3) == INFINITY && k::trigamma_for_float(INFINITY) == 0);
}

TEST("angles of points, in every quadrant and on the axes") {
  uint32_t state = 1;
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    float y[16], x[16], out[16];
    for (int lane = 0; lane < 16; ++lane) {
      y[lane] = random_float(state);
      x[lane] = i % 2 ? random_float(state) : y[lane] * (static_cast<float>(state >> 8 & 1023) / 100 + 0.001f);
    }
    k::store(out, k::atan2(k::load(y), k::load(x)));
    for (int lane = 0; lane < 16; ++lane)
      worst = std::max(
          worst, error_in_ulps(out[lane], std::atan2(static_cast<double>(y[lane]), static_cast<double>(x[lane]))));
  }
  expect(worst <= 4, "off by " + std::to_string(worst) + " ulp");
  for (const float y : {0.f, -0.f, 1.f, -1.f, INFINITY, -INFINITY})
    for (const float x : {0.f, -0.f, 1.f, -1.f, INFINITY, -INFINITY}) {
      float out[16];
      k::store(out, k::atan2(Floats(y), Floats(x)));
      expect(error_in_ulps(out[0], std::atan2(static_cast<double>(y), static_cast<double>(x))) <= 4 &&
             std::signbit(out[0]) == std::signbit(std::atan2(y, x)));
    }
}

TEST("remainders are exact") {
  uint32_t state = 7;
  for (int i = 0; i < 20000; ++i) {
    float a[16], b[16], out[16];
    for (int lane = 0; lane < 16; ++lane) {
      a[lane] = random_float(state);
      b[lane] = i % 4 == 0 ? random_float(state) : a[lane] / (static_cast<float>(state >> 12) / 64 + 0.3f);
    }
    k::store(out, k::fmod(k::load(a), k::load(b)));
    for (int lane = 0; lane < 16; ++lane) {
      const float wanted = std::fmod(a[lane], b[lane]);
      expect(out[lane] == wanted ? std::signbit(out[lane]) == std::signbit(wanted)
                                 : std::isnan(out[lane]) && std::isnan(wanted),
             std::to_string(a[lane]) + " by " + std::to_string(b[lane]));
    }
  }
}
