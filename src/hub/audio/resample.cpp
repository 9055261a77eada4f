#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fulgurite/error.h>
#include <fulgurite/hub/audio.h>

#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

// A sinc with so many zeros on each side, in a Kaiser window whose side lobes are below -100 dB.
constexpr int64_t zeros_of_filter = 64;
constexpr double window_shape = 10.06;
// The share of the lower rate's half at which the filter has damped by half: the damping is complete at the whole.
constexpr double cutoff = 0.95;
// Samples of the filter from one zero to the next; values between them are interpolated.
constexpr int64_t filter_steps = 1024;

// The filter from its middle to its end, with one more value for interpolation.
std::vector<double> half_filter() {
  std::vector<double> values;
  const int64_t count = zeros_of_filter * filter_steps;
  const double middle = std::cyl_bessel_i(0.0, window_shape);
  for (int64_t i = 0; i <= count; ++i) {
    const double x = static_cast<double>(i) / filter_steps, share = static_cast<double>(i) / static_cast<double>(count);
    const double window = std::cyl_bessel_i(0.0, window_shape * std::sqrt(1 - share * share)) / middle;
    const double angle = std::numbers::pi * x;
    values.push_back(i == 0 ? 1 : window * std::sin(angle) / angle);
  }
  values.push_back(0);
  return values;
}

double value_at(const std::vector<double>& filter, double x) {
  const double position = std::abs(x) * filter_steps;
  const auto index = static_cast<size_t>(position);
  if (index + 1 >= filter.size()) return 0;
  return filter[index] + (position - static_cast<double>(index)) * (filter[index + 1] - filter[index]);
}

void check_rate(int64_t rate) {
  if (rate < 1000 || rate > 1'000'000)
    throw UserError(
        text::cat("resample: rates of 1000 to 1000000 samples of a second are resampled, there are ", rate));
}

// The sum of the products, in an order that vectors compute.
double dot(const float* samples, const double* weights, int64_t count) {
  constexpr int64_t lanes = 8;
  double sums[lanes] = {};
  int64_t k = 0;
  for (; k + lanes <= count; k += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += static_cast<double>(samples[k + lane]) * weights[k + lane];
  for (; k < count; ++k) sums[0] += static_cast<double>(samples[k]) * weights[k];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

// Samples whose positions in the input have the same fraction have the same weights: they are computed together.
Audio resample(const Audio& audio, int64_t rate) {
  if (audio.rate == rate) return audio;
  check_rate(audio.rate);
  check_rate(rate);
  const std::vector<double> filter = half_filter();
  const double scale = cutoff * std::min(1.0, static_cast<double>(rate) / static_cast<double>(audio.rate));
  const auto reach = static_cast<int64_t>(std::ceil(zeros_of_filter / scale));
  const auto length = static_cast<int64_t>(audio.samples.size());
  const int64_t count = (length * rate + audio.rate - 1) / audio.rate, period = rate / std::gcd(rate, audio.rate);
  Audio out{rate, std::vector<float>(static_cast<size_t>(count))};
  std::vector<double> weights(static_cast<size_t>(2 * reach + 1));
  for (int64_t first = 0; first < std::min(period, count); ++first) {
    const double fraction = static_cast<double>(first * audio.rate % rate) / static_cast<double>(rate);
    for (int64_t k = -reach; k <= reach; ++k)
      weights[static_cast<size_t>(k + reach)] = scale * value_at(filter, (static_cast<double>(k) - fraction) * scale);
    for (int64_t i = first; i < count; i += period) {
      const int64_t middle = i * audio.rate / rate;
      const int64_t begin = std::max<int64_t>(0, middle - reach), end = std::min(length, middle + reach + 1);
      const double* weight = weights.data() + (begin - (middle - reach));
      out.samples[static_cast<size_t>(i)] = static_cast<float>(dot(audio.samples.data() + begin, weight, end - begin));
    }
  }
  return out;
}

}  // namespace fulgurite::hub
