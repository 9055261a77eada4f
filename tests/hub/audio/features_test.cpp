#include <cmath>
#include <numbers>

#include <fulgurite/fulgurite.h>
#include <fulgurite/hub.h>

#include "hub/audio/mel.h"
#include "hub/model_folder.h"
#include "support/layer_values.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

constexpr const char* small_settings = R"({"feature_extractor_type": "WhisperFeatureExtractor", "chunk_length": 1})";

hub::AudioProcessor processor(const std::string& text = small_settings) {
  return hub::AudioProcessor(hub::Config(text, "p"));
}

hub::Audio tone(double hertz, int64_t samples) {
  hub::Audio audio;
  for (int64_t i = 0; i < samples; ++i)
    audio.samples.push_back(
        static_cast<float>(0.3 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / 16000)));
  return audio;
}

}  // namespace

TEST("mel filters are those of transformers") {
  const Tensor filters = hub::mel_filters(201, 80, 16000);
  expect_equal(filters.shape(), Shape({201, 80}));
  // transformers.audio_utils.mel_filter_bank
  expect_near(filters(1, 0).item<double>(), 0.024862593984176087, 1e-15);
  expect_near(filters(2, 1).item<double>(), 0.022871772096078023, 1e-15);
  expect_near(filters(25, 15).item<double>(), 0.0, 1e-15);
  expect_near(filters(100, 61).item<double>(), 0.0003358862202509771, 1e-15);
  expect_near(filters(100, 62).item<double>(), 0.006172718498657561, 1e-15);
  expect_near(filters(199, 79).item<double>(), 0.00044875902758905584, 1e-15);
  expect_near(sum(filters).item<double>(), 1.9990241029178577, 1e-13);
  const Tensor finer = hub::mel_filters(201, 128, 16000);
  expect_near(finer(150, 117).item<double>(), 0.0004674935156182875, 1e-15);
  expect_near(sum(finer).item<double>(), 3.1909855285406996, 1e-13);
}

TEST("the windowed transform is that of a periodic Hann window") {
  const Tensor transform = hub::windowed_transform(8);
  expect_equal(transform.shape(), Shape({8, 10}));
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t k = 0; k < 5; ++k) {
      const double window = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / 8);
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * k) / 8;
      expect_near(transform(i, k).item<double>(), window * std::cos(angle), 1e-14);
      expect_near(transform(i, 5 + k).item<double>(), -window * std::sin(angle), 1e-14);
    }
}

TEST("features have a chunk's frames, the loudest bin of a tone and the floor below it") {
  const Tensor features = processor()(tone(1000, 16000));
  expect_equal(features.shape(), Shape({1, 80, 100}));
  expect_equal(features.dtype(), Dtype::f32);
  const Tensor middle = features(0).select(1, 50);
  const int64_t best = argmax(middle).item<int64_t>();
  const std::vector<double> filter = values(hub::mel_filters(201, 80, 16000)(25));  // 1000 Hz
  expect_equal(best, std::max_element(filter.begin(), filter.end()) - filter.begin());
  expect_near(max(features).item<double>() - min(features).item<double>(), 2.0, 1e-6);  // 8 / 4
  const Tensor silence = processor()(hub::Audio{});
  expect(equal(silence, full({1, 80, 100}, -1.5)));
}

TEST("sounds are padded, cut, resampled and divided into chunks") {
  const auto prepare = processor();
  expect_equal(prepare.rate(), 16000);
  expect_equal(prepare.chunk_samples(), 16000);
  expect_equal(prepare.hop(), 160);
  const hub::Audio audio = tone(700, 40100);
  const auto chunks = prepare.chunks(audio);
  expect_equal(chunks.size(), size_t{3});
  expect_equal(chunks[2].samples.size(), size_t{8100});
  expect(equal(prepare(audio), prepare(chunks[0])));
  expect_equal(prepare(std::vector<hub::Audio>(chunks)).shape(), Shape({3, 80, 100}));
  expect_equal(prepare.all_frames(audio).shape(), Shape({1, 80, 250}));
  expect_equal(prepare.all_frames(chunks[2]).shape(), Shape({1, 80, 100}));
  expect_equal(prepare.chunks({}).size(), size_t{1});
  const hub::Audio faster = hub::resample(tone(700, 16000), 48000);
  expect_equal(prepare.chunks(faster).front().samples.size(), size_t{16000});
  // A chunk's end has no mirror image of what follows it.
  expect(allclose(narrow(prepare(faster), 2, 10, 80), narrow(prepare(tone(700, 16000)), 2, 10, 80), 0, 1e-2));
  expect_error([&] { prepare(std::vector<hub::Audio>()); }, "AudioProcessor: there are no sounds");
}

TEST("long sounds are computed in blocks without seams") {
  const hub::Audio audio = tone(300, 16000 * 62);
  const Tensor all = processor().all_frames(audio)(0);
  expect_equal(all.shape(), Shape({80, 6200}));
  const Tensor one = narrow(all, 1, 1000, 1);  // the tone has the same spectrum every 0.01 seconds
  expect(allclose(narrow(all, 1, 100, 6000), expand(one, {80, 6000}), 0, 2e-3));
}

TEST("settings come from preprocessor_config.json, or from processor_config.json") {
  const TestFolder folder;
  expect_error([&] { hub::AudioProcessor::load(folder.path); },
               "\"" + folder.path + "\" has no preprocessor_config.json, which says how sound is prepared");
  write_text(folder.file("processor_config.json"), R"({"feature_extractor": {"feature_extractor_type":
    "WhisperFeatureExtractor", "feature_size": 128, "chunk_length": 2, "hop_length": 80}})");
  expect(hub::AudioProcessor::load(folder.path).feature_size() == std::array<int64_t, 2>{128, 400});
  write_text(folder.file("preprocessor_config.json"), small_settings);
  expect(hub::AudioProcessor::load(folder.path).feature_size() == std::array<int64_t, 2>{80, 100});
}

TEST("settings that there are not are refused") {
  const auto refused = [](const std::string& more, const std::string& message) {
    const std::string text = R"({"feature_extractor_type": "WhisperFeatureExtractor")" + more + "}";
    expect_error([&] { processor(text); }, "p: " + message);
  };
  expect_error([] { processor("{}"); },
               "p: \"feature_extractor_type\" is absent, which is not supported; sound is prepared as by "
               "WhisperFeatureExtractor");
  expect_error([] { processor(R"({"feature_extractor_type": "ASTFeatureExtractor"})"); },
               "p: \"feature_extractor_type\" is \"ASTFeatureExtractor\", which is not supported; sound is prepared as "
               "by WhisperFeatureExtractor");
  refused(R"(, "dither": 0.1)", "\"dither\" is 0.1, which is not supported; noise is not added to the sound");
  refused(R"(, "n_fft": 401)", "\"n_fft\" is 401, which is not supported; it must be even");
  refused(R"(, "n_fft": 0)", "\"n_fft\" is 0, which is not supported; it must be from 2 to 16384");
  refused(R"(, "feature_size": 0)", "\"feature_size\" is 0, which is not supported; it must be from 1 to 4096");
  refused(R"(, "chunk_length": 1, "sampling_rate": 1000, "n_fft": 1000)",
          "\"chunk_length\" is 1, which is not supported; a chunk must be longer than a frame");
  refused(R"(, "hop_length": "ten")", "\"hop_length\" must be a whole number");
}
