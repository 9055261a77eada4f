#include "codegen/vector_math.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "support/test.h"

namespace k = fulgurite::FULGURITE_KERNELS;
using k::Floats;

namespace {

// How far `got` is from the true value, in units of its last place.
double error_in_ulps(float got, double truth) {
  if (std::isnan(truth)) return std::isnan(got) ? 0 : 1e9;
  const float rounded = static_cast<float>(truth);
  if (std::isinf(rounded)) return got == rounded ? 0 : std::fabs(got) == 3.4028234664e38f ? 1 : 1e9;
  int exponent = 0;
  std::frexp(truth, &exponent);
  return std::fabs(got - truth) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

template <class Lanes, class Scalar>
void check(const char* name, Lanes of_lanes, Scalar of_double, double bound = 2.5) {
  double worst = 0;
  float worst_at = 0;
  const auto compare = [&](const float* in) {
    float out[16];
    k::store(out, of_lanes(k::load(in)));
    for (int lane = 0; lane < 16; ++lane) {
      const double error = error_in_ulps(out[lane], of_double(static_cast<double>(in[lane])));
      if (error > worst) {
        worst = error;
        worst_at = in[lane];
      }
    }
  };
  // Every exponent and sign, with mantissas that differ from one to the next.
  float in[16];
  constexpr uint32_t step = 40009;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 16 * step) {
    for (uint32_t lane = 0; lane < 16; ++lane) {
      const uint32_t pattern = static_cast<uint32_t>(bits) + lane * step;
      std::memcpy(&in[lane], &pattern, 4);
    }
    compare(in);
  }
  const float special[16] = {0.f,  -0.f,    INFINITY, -INFINITY, NAN,  1e-45f, -1e-45f, 1.f,
                             -1.f, 3.4e38f, -3.4e38f, 1e-38f,    0.5f, 88.7f,  -87.4f,  3.14159274f};
  compare(special);
  expect(worst <= bound,
         std::string(name) + " is off by " + std::to_string(worst) + " ulp at " + std::to_string(worst_at));
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
