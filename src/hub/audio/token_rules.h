#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "hub/audio/speech_settings.h"

namespace fulgurite::hub {

/// Sets the scores of tokens that may not follow `generated`, the tokens after the prompt, to -infinity. With times,
/// these come in pairs and do not decrease, and one comes where all together are more probable than any other token;
/// without, there are none.
/// `scores` has one number for each token of the vocabulary.
void apply_token_rules(std::vector<float>& scores, std::span<const int64_t> generated, const SpeechSettings& settings,
                       bool has_times);

}  // namespace fulgurite::hub
