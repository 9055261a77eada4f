#include "codegen/device_lib/math.h"

#include <cmath>

#include "executors/ulps.h"

namespace k = fulgurite::FULGURITE_KERNELS;
using k::Floats;
using namespace fulgurite::test;

namespace {

template <class Lanes, class Scalar>
void check(const char* name, Lanes of_lanes, Scalar of_double, double bound = 2.5) {
  check_lanes(name, of_lanes, of_double, bound);
}

}  // namespace

TEST("vector functions are within two units in the last place, everywhere") {
  check(
      "exp", [](Floats x) { return k::exp(x); }, [](double x) { return std::exp(x); });
  check(
      "exp2", [](Floats x) { return k::exp2(x); }, [](double x) { return std::exp2(x); });
  check(
      "expm1", [](Floats x) { return k::expm1(x); }, [](double x) { return std::expm1(x); });
  check(
      "log", [](Floats x) { return k::log(x); }, [](double x) { return std::log(x); });
  check(
      "log2", [](Floats x) { return k::log2(x); }, [](double x) { return std::log2(x); });
  check(
      "log10", [](Floats x) { return k::log10(x); }, [](double x) { return std::log10(x); });
  check(
      "log1p", [](Floats x) { return k::log1p(x); }, [](double x) { return std::log1p(x); });
  check(
      "tanh", [](Floats x) { return k::tanh(x); }, [](double x) { return std::tanh(x); });
  check(
      "sigmoid", [](Floats x) { return k::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); });
  check(
      "erf", [](Floats x) { return k::erf(x); }, [](double x) { return std::erf(x); });
  check(
      "sin", [](Floats x) { return k::sin(x); }, [](double x) { return std::sin(x); });
  check(
      "cos", [](Floats x) { return k::cos(x); }, [](double x) { return std::cos(x); });
  check(
      "sqrt", [](Floats x) { return k::sqrt(x); }, [](double x) { return std::sqrt(x); }, 0.51);
}

TEST("vector rounding is exact") {
  check(
      "floor", [](Floats x) { return k::floor(x); }, [](double x) { return std::floor(x); }, 0);
  check(
      "ceil", [](Floats x) { return k::ceil(x); }, [](double x) { return std::ceil(x); }, 0);
  check(
      "trunc", [](Floats x) { return k::trunc(x); }, [](double x) { return std::trunc(x); }, 0);
  check(
      "round_to_even", [](Floats x) { return k::round_to_even(x); }, [](double x) { return std::nearbyint(x); }, 0);
}

TEST("minimum and maximum keep NaN wherever it stands") {
  const Floats nan = NAN, one = 1.f;
  float out[16];
  for (const Floats& value : {k::maximum(nan, one), k::maximum(one, nan), k::minimum(nan, one), k::minimum(one, nan)}) {
    k::store(out, value);
    expect(std::isnan(out[0]) && std::isnan(out[15]));
  }
}

TEST("lanes are added in a fixed tree") {
  float x[16], expected[16];
  for (int i = 0; i < 16; ++i) expected[i] = x[i] = 1.f / static_cast<float>(i + 3);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) expected[i] += expected[i + half];
  expect_equal(k::sum_of_lanes(k::load(x)), expected[0]);
}
