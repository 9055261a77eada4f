#include "hub/audio/mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <fulgurite/operators.h>

namespace fulgurite::hub {

namespace {

constexpr double max_frequency = 8000;
// Slaney's scale: linear up to 1000 Hz, which are 15 mels, and logarithmic above, 27 mels for a factor of 6.4.
constexpr double linear_hertz = 1000, linear_mels = 15, hertz_of_mel = 200.0 / 3.0;

double mels_of(double hertz) {
  if (hertz < linear_hertz) return hertz / hertz_of_mel;
  return linear_mels + std::log(hertz / linear_hertz) * 27 / std::log(6.4);
}

double hertz_of(double mels) {
  if (mels < linear_mels) return mels * hertz_of_mel;
  return linear_hertz * std::exp((mels - linear_mels) * std::log(6.4) / 27);
}

// The beginnings, middles and ends of the filters, which overlap by half.
std::vector<double> corners(int64_t bins) {
  std::vector<double> out;
  for (int64_t i = 0; i < bins + 2; ++i)
    out.push_back(hertz_of(mels_of(max_frequency) * static_cast<double>(i) / static_cast<double>(bins + 1)));
  return out;
}

}  // namespace

Tensor mel_filters(int64_t frequencies, int64_t bins, int64_t rate) {
  const std::vector<double> at = corners(bins);
  const int64_t highest = rate / 2;  // Hz
  const double step = static_cast<double>(highest) / static_cast<double>(frequencies - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < frequencies; ++i) {
    const double hertz = step * static_cast<double>(i);
    for (size_t bin = 0; bin < static_cast<size_t>(bins); ++bin) {
      const double rising = (hertz - at[bin]) / (at[bin + 1] - at[bin]);
      const double falling = (at[bin + 2] - hertz) / (at[bin + 2] - at[bin + 1]);
      values.push_back(std::max(0.0, std::min(rising, falling)) * 2 / (at[bin + 2] - at[bin]));
    }
  }
  return reshape(tensor(values), {frequencies, bins});
}

Tensor windowed_transform(int64_t size) {
  const int64_t frequencies = size / 2 + 1;
  const double turn = 2 * std::numbers::pi / static_cast<double>(size);
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    const double window = 0.5 - 0.5 * std::cos(turn * static_cast<double>(i));
    const auto angle = [&](int64_t k) { return turn * static_cast<double>(i * k % size); };
    for (int64_t k = 0; k < frequencies; ++k) values.push_back(window * std::cos(angle(k)));
    for (int64_t k = 0; k < frequencies; ++k) values.push_back(-window * std::sin(angle(k)));
  }
  return reshape(tensor(values), {size, 2 * frequencies});
}

}  // namespace fulgurite::hub
