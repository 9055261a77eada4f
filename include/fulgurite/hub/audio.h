#pragma once
#include <fulgurite/detail/requirements.h>

// Sound from files, prepared for a model as a folder's preprocessor_config.json says.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/hub/config.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// Sound of one channel.
struct Audio {
  int64_t rate = 16000;        // samples of a second
  std::vector<float> samples;  // between -1 and 1
};

/// Reads a WAV file: integers of 8, 16, 24 or 32 bits, or floating-point numbers of 32 or 64. Several channels become
/// their mean. UserError naming the path for a file of another kind, or one that is damaged or cut short.
Audio read_wav(const std::string& path);
/// Reads sound from the bytes of a WAV file. UserError as read_wav.
Audio decode_wav(std::string_view bytes);
/// The sound with another rate. Frequencies up to 0.9 of the lower rate's half remain, those above its half are damped
/// by 100 dB. UserError for rates that are not between 1000 and 1,000,000.
Audio resample(const Audio& audio, int64_t rate);

/// Prepares sound as WhisperFeatureExtractor of transformers: the logarithm of a mel spectrogram.
class AudioProcessor {
 public:
  /// Reads preprocessor_config.json of a folder, or the object "feature_extractor" of processor_config.json. UserError
  /// if there is neither, or for an extractor or a setting that the library does not have.
  static AudioProcessor load(const std::string& folder);
  /// The processor that the text of a preprocessor_config.json describes.
  explicit AudioProcessor(const Config& config);

  /// Returns features for a model: [1, bins, frames] of f32. Sound of another rate is resampled; it is padded with
  /// silence or cut to the length of one chunk, which is 30 seconds for Whisper.
  Tensor operator()(const Audio& audio) const;
  /// Returns the features of each of several sounds: [sounds, bins, frames] of f32. UserError if there are none.
  Tensor operator()(const std::vector<Audio>& sounds) const;
  /// Returns the features of the whole sound, which is padded if it is shorter than a chunk: [1, bins, frames] of f32.
  Tensor all_frames(const Audio& audio) const;
  /// The consecutive chunks of a sound, of the processor's rate; at least one. The last one may be shorter.
  std::vector<Audio> chunks(const Audio& audio) const;

  /// Bins and frames of a chunk's features.
  std::array<int64_t, 2> feature_size() const;
  int64_t rate() const;           // samples of a second
  int64_t chunk_samples() const;  // samples of a chunk
  int64_t hop() const;            // samples from one frame to the next

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace hub
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
