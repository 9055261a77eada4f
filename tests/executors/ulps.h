// The errors of functions of floats, in units in the last place, over floats of every kind.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "codegen/device_lib/memory.h"
#include "support/test.h"

namespace fulgurite::test {

/// The error of `got`, in units in the last place of the true value.
inline double error_in_ulps(float got, double truth) {
  if (std::isnan(truth)) return std::isnan(got) ? 0 : 1e9;
  const float rounded = static_cast<float>(truth);
  if (std::isinf(rounded)) return got == rounded ? 0 : std::fabs(got) == 3.4028234664e38f ? 1 : 1e9;
  int exponent = 0;
  std::frexp(truth, &exponent);
  return std::fabs(got - truth) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Compares `function(in, out)`, of 16 floats, with `truth`: all exponents and signs, varying mantissas, edges.
template <class Function, class Truth>
void check_floats(const char* name, Function function, Truth truth, double bound) {
  double worst = 0;
  float worst_at = 0;
  const auto compare = [&](const float* in) {
    float out[16];
    function(in, out);
    for (int lane = 0; lane < 16; ++lane) {
      const double error = error_in_ulps(out[lane], truth(static_cast<double>(in[lane])));
      if (error > worst) {
        worst = error;
        worst_at = in[lane];
      }
    }
  };
  float in[16];
  constexpr uint32_t step = 40009;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 16 * step) {
    for (uint32_t lane = 0; lane < 16; ++lane) {
      const uint32_t pattern = static_cast<uint32_t>(bits) + lane * step;
      std::memcpy(&in[lane], &pattern, 4);
    }
    compare(in);
  }
  const float edges[16] = {0.f,  -0.f,    INFINITY, -INFINITY, NAN,  1e-45f, -1e-45f, 1.f,
                           -1.f, 3.4e38f, -3.4e38f, 1e-38f,    0.5f, 88.7f,  -87.4f,  3.14159274f};
  compare(edges);
  expect(worst <= bound,
         std::string(name) + " is off by " + std::to_string(worst) + " ulp at " + std::to_string(worst_at));
}

/// A function of lanes.
template <class Function, class Truth>
void check_lanes(const char* name, Function function, Truth truth, double bound) {
  namespace k = FULGURITE_KERNELS;
  check_floats(
      name, [&](const float* in, float* out) { k::store(out, function(k::load(in))); }, truth, bound);
}

}  // namespace fulgurite::test
