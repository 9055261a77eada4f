#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/models/whisper.h>
#include <fulgurite/tokenizer.h>

namespace fulgurite::hub {

/// The tokens that steer a Whisper, as generation_config.json of its folder has them.
struct SpeechSettings {
  bool is_multilingual = false;
  int64_t start = 0;                          // begins every text
  std::optional<int64_t> no_timestamps{};     // the tokens after it are times
  std::map<std::string, int64_t> languages;   // "en", …
  std::map<std::string, int64_t> tasks;       // "transcribe" and "translate"
  std::string language, task;                 // where a call names none; empty: detected, and "transcribe"
  bool is_forced = false;                     // they are of forced tokens, for calls that name neither
  std::vector<int64_t> suppress{};            // never generated
  std::vector<int64_t> begin_suppress{};      // not generated as the first token
  std::vector<int64_t> end{};                 // end a text
  std::optional<int64_t> max_generated{};     // the most tokens of a text, without the prompt
  std::optional<int64_t> max_initial_time{};  // the largest first time, counted from the first one

  /// True for tokens that are times.
  bool is_time(int64_t token) const { return no_timestamps && token > *no_timestamps; }
};

/// Reads generation_config.json of a folder, or config.json where there is none. Names of special tokens stand in for
/// what the file does not have. UserError for values of another kind, and where the tokenizer has no tokens that end
/// texts.
SpeechSettings read_speech_settings(const std::string& folder, const models::Whisper& model, const Tokenizer& text);

}  // namespace fulgurite::hub
