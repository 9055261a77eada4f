#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hub/audio/speech_settings.h"

namespace fulgurite::hub {

/// Times are counted in steps of so many frames.
inline constexpr int64_t frames_of_step = 2;

/// A part of generated tokens between two times.
struct TimedTokens {
  int64_t begin = 0, end = 0;   // steps
  std::vector<int64_t> tokens;  // with the times
};

/// The segments of the tokens that were generated for some frames, and the frames after which the next tokens begin.
struct Segmentation {
  std::vector<TimedTokens> segments;
  int64_t frames = 0;
};

/// Divides tokens at their pairs of times, as transformers does it: what follows the last pair is generated anew from
/// the frames after it, unless a single time ends the tokens. Without a pair all are one segment.
Segmentation divide_at_times(std::span<const int64_t> tokens, int64_t frames, const SpeechSettings& settings);

}  // namespace fulgurite::hub
