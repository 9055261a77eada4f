#include <algorithm>
#include <filesystem>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/hub/audio.h>
#include <fulgurite/operators.h>

#include "hub/audio/mel.h"
#include "hub/files.h"
#include "support/text/text.h"

namespace fulgurite::hub {

struct AudioProcessor::State {
  int64_t bins = 80, rate = 16000, hop = 160, size = 400, samples = 480000;  // size: of the Fourier transform
  float padding = 0;
  Tensor transform, filters;

  Tensor logarithms(const std::vector<float>& sound, int64_t begin, int64_t end) const;
};

namespace {

namespace fs = std::filesystem;

constexpr std::string_view extractor = "WhisperFeatureExtractor";

int64_t integer_from(const Config& config, std::string_view key, int64_t otherwise, int64_t low, int64_t high) {
  const int64_t value = config.integer(key, otherwise);
  if (value < low || value > high) config.refuse(key, text::cat("it must be from ", low, " to ", high));
  return value;
}

void check_kind(const Config& config) {
  if (config.string("feature_extractor_type", "") != extractor)
    config.refuse("feature_extractor_type", text::cat("sound is prepared as by ", extractor));
  if (config.number("dither", 0) != 0) config.refuse("dither", "noise is not added to the sound");
}

// The samples [begin, end) of a sound, before and behind which are its mirror images.
Tensor mirrored(const std::vector<float>& samples, int64_t begin, int64_t end) {
  const auto length = static_cast<int64_t>(samples.size());
  std::vector<double> out;
  out.reserve(static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i) {
    const int64_t inside = i < 0 ? -i : i >= length ? 2 * (length - 1) - i : i;
    out.push_back(static_cast<double>(samples[static_cast<size_t>(inside)]));
  }
  return tensor(out);
}

// Frames are computed in blocks of so many: their spectra need more memory than the sound.
constexpr int64_t block_frames = 3000;

}  // namespace

AudioProcessor::AudioProcessor(const Config& config) {
  check_kind(config);
  State state;
  state.bins = integer_from(config, "feature_size", 80, 1, 4096);
  state.rate = integer_from(config, "sampling_rate", 16000, 1000, 1'000'000);
  state.hop = integer_from(config, "hop_length", 160, 1, 1'000'000);
  state.size = integer_from(config, "n_fft", 400, 2, 16384);
  if (state.size % 2 != 0) config.refuse("n_fft", "it must be even");
  state.samples = state.rate * integer_from(config, "chunk_length", 30, 1, 3600);
  if (state.samples <= state.size || state.samples < state.hop)
    config.refuse("chunk_length", "a chunk must be longer than a frame");
  state.padding = static_cast<float>(config.number("padding_value", 0));
  state.transform = windowed_transform(state.size);
  state.filters = mel_filters(state.size / 2 + 1, state.bins, state.rate);
  state_ = std::make_shared<const State>(state);
}

AudioProcessor AudioProcessor::load(const std::string& folder) {
  const std::string path = join_path(folder, "preprocessor_config.json");
  if (fs::exists(path)) return AudioProcessor(Config(read_text(path), path));
  const std::string whole = join_path(folder, "processor_config.json");
  if (fs::exists(whole)) {
    const Config config(read_text(whole), whole);
    if (config.has("feature_extractor")) return AudioProcessor(config.object("feature_extractor"));
  }
  throw UserError(text::cat("\"", folder, "\" has no preprocessor_config.json, which says how sound is prepared"));
}

std::array<int64_t, 2> AudioProcessor::feature_size() const { return {state_->bins, state_->samples / state_->hop}; }
int64_t AudioProcessor::rate() const { return state_->rate; }
int64_t AudioProcessor::chunk_samples() const { return state_->samples; }
int64_t AudioProcessor::hop() const { return state_->hop; }

// The logarithms of the frames [begin, end) by bin, in f64, so that quiet bins beside loud ones are exact.
Tensor AudioProcessor::State::logarithms(const std::vector<float>& sound, int64_t begin, int64_t end) const {
  const int64_t half = size / 2, frequencies = half + 1;
  const Tensor part = mirrored(sound, begin * hop - half, (end - 1) * hop + half);
  const Tensor squares = square(matmul(unfold(part, 0, size, hop), transform));
  const Tensor real = narrow(squares, 1, 0, frequencies);
  const Tensor power = real + narrow(squares, 1, frequencies, frequencies);
  return log10(clamp_min(matmul(power, filters), 1e-10));
}

Tensor AudioProcessor::all_frames(const Audio& audio) const {
  const NoGrad no_grad;
  std::vector<float> sound = resample(audio, state_->rate).samples;
  const auto length = std::max(static_cast<int64_t>(sound.size()), state_->samples);
  sound.resize(static_cast<size_t>(length), state_->padding);
  const int64_t frames = length / state_->hop;
  std::vector<Tensor> blocks;
  for (int64_t begin = 0; begin < frames; begin += block_frames)
    blocks.push_back(state_->logarithms(sound, begin, std::min(frames, begin + block_frames)));
  const Tensor logarithms = cat(blocks, 0);
  const Tensor bounded = maximum(logarithms, max(logarithms) - 8.0);
  const Tensor scaled = ((bounded + 4.0) / 4.0).to(Dtype::f32);
  return unsqueeze(transpose(scaled, 0, 1).contiguous(), 0);
}

Tensor AudioProcessor::operator()(const Audio& audio) const { return all_frames(chunks(audio).front()); }

Tensor AudioProcessor::operator()(const std::vector<Audio>& sounds) const {
  if (sounds.empty()) throw UserError("AudioProcessor: there are no sounds");
  std::vector<Tensor> features;
  for (const Audio& audio : sounds) features.push_back((*this)(audio));
  return cat(features, 0);
}

std::vector<Audio> AudioProcessor::chunks(const Audio& audio) const {
  const Audio whole = resample(audio, state_->rate);
  const auto size = static_cast<size_t>(state_->samples);
  std::vector<Audio> out;
  for (size_t begin = 0; out.empty() || begin < whole.samples.size(); begin += size) {
    const auto from = whole.samples.begin() + static_cast<std::ptrdiff_t>(begin);
    const size_t count = std::min(size, whole.samples.size() - begin);
    out.push_back({whole.rate, {from, from + static_cast<std::ptrdiff_t>(count)}});
  }
  return out;
}

}  // namespace fulgurite::hub
