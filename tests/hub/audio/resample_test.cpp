#include <cmath>
#include <numbers>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

hub::Audio tone(int64_t rate, double hertz, double seconds) {
  hub::Audio audio{rate, {}};
  for (int64_t i = 0; i < static_cast<int64_t>(seconds * static_cast<double>(rate)); ++i)
    audio.samples.push_back(static_cast<float>(
        std::sin(2 * std::numbers::pi * std::fmod(hertz * static_cast<double>(i) / static_cast<double>(rate), 1))));
  return audio;
}

// The largest difference away from both ends, where the filter has all of its samples.
double difference(const hub::Audio& a, const hub::Audio& b, double scale = 1) {
  double largest = 0;
  for (size_t i = 2000; i + 2000 < a.samples.size(); ++i)
    largest =
        std::max(largest, std::abs(static_cast<double>(a.samples[i]) - scale * static_cast<double>(b.samples[i])));
  return largest;
}

}  // namespace

TEST("resampled tones are tones of the new rate, without a delay") {
  for (const int64_t rate : {8000, 11025, 22050, 44100, 48000, 96000, 16001})
    for (const double share : {0.01, 0.3, 0.88}) {
      const double hertz = share * static_cast<double>(std::min<int64_t>(rate, 16000)) / 2;
      const hub::Audio out = hub::resample(tone(rate, hertz, 0.6), 16000);
      expect_equal(out.rate, 16000);
      expect_equal(out.samples.size(), size_t{9600});
      expect(difference(out, tone(16000, hertz, 0.6)) < 3e-5, std::to_string(rate) + " " + std::to_string(hertz));
    }
}

TEST("tones beyond half of the new rate are damped by 100 dB") {
  for (const double hertz : {8020.0, 8500.0, 12000.0, 21000.0}) {
    const hub::Audio out = hub::resample(tone(44100, hertz, 0.6), 16000);
    expect(difference(out, out, 0) < 2e-5, std::to_string(hertz));
  }
}

TEST("a sound of the wanted rate is the same, and lengths are rounded up") {
  const hub::Audio audio = tone(16000, 440, 0.1);
  expect_equal(hub::resample(audio, 16000).samples, audio.samples);
  expect_equal(hub::resample({48000, {1, 1, 1, 1}}, 16000).samples.size(), size_t{2});
  expect_equal(hub::resample({8000, {1}}, 16000).samples.size(), size_t{2});
  expect(hub::resample({8000, {}}, 16000).samples.empty());
}

TEST("a constant sound remains constant away from its ends") {
  const hub::Audio ones{44100, std::vector<float>(30000, 0.5F)};
  const hub::Audio out = hub::resample(ones, 16000);
  for (size_t i = 2000; i < 8000; i += 100) expect_near(static_cast<double>(out.samples[i]), 0.5, 1e-5);
}

TEST("rates out of range are refused") {
  expect_error(
      [] {
        hub::resample({999, {1}}, 16000);
      },
      "resample: rates of 1000 to 1000000 samples of a second are resampled, there are 999");
  expect_error(
      [] {
        hub::resample({16000, {1}}, 1'000'001);
      },
      "resample: rates of 1000 to 1000000 samples of a second are resampled, there are 1000001");
}
