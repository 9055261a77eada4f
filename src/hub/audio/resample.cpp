#include <algorithm>
#include <cmath>
#include <numbers>

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

}  // namespace

Audio resample(const Audio& audio, int64_t rate) {
  if (audio.rate == rate) return audio;
  check_rate(audio.rate);
  check_rate(rate);
  const std::vector<double> filter = half_filter();
  const double scale = cutoff * std::min(1.0, static_cast<double>(rate) / static_cast<double>(audio.rate));
  const auto reach = static_cast<int64_t>(std::ceil(zeros_of_filter / scale));
  const auto length = static_cast<int64_t>(audio.samples.size());
  Audio out{rate, {}};
  const int64_t count = (length * rate + audio.rate - 1) / audio.rate;
  out.samples.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    // The position i * audio.rate / rate in the input, divided so that it is exact in long sounds.
    const int64_t whole = i * audio.rate / rate;
    const double rest = static_cast<double>(i * audio.rate % rate) / static_cast<double>(rate);
    double sum = 0;
    for (int64_t k = std::max<int64_t>(0, whole - reach); k <= std::min(length - 1, whole + reach); ++k)
      sum += static_cast<double>(audio.samples[static_cast<size_t>(k)]) *
             value_at(filter, (static_cast<double>(k - whole) - rest) * scale);
    out.samples.push_back(static_cast<float>(sum * scale));
  }
  return out;
}

}  // namespace fulgurite::hub
