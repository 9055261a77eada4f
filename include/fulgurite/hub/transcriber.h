#pragma once
#include <fulgurite/detail/requirements.h>

// Texts of speech, as Whisper writes them.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fulgurite/hub/audio.h>
#include <fulgurite/hub/checkpoint.h>
#include <fulgurite/model_parts.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Options of Transcriber::transcribe.
struct TranscribeOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  std::string language{};   // "en", "English", …; empty: generation_config.json's, or detected
  std::string task{};       // "transcribe" or "translate" into English; empty: the file's, or "transcribe"
  bool timestamps = false;  // the model divides the text into segments with times, as it does where sound is longer
  bool chunks = false;      // longer sound is divided into consecutive chunks instead, without times
  int64_t max_tokens = 0;   // of the text of each part of 30 seconds; 0: as many as the model has
};

/// A part of a text with its time.
struct SpeechSegment {
  double begin = 0, end = 0;  // seconds
  std::string text;
  std::vector<int64_t> tokens;  // the times among them
};

/// The text of speech.
struct Transcription {
  std::string text;      // without spaces at its ends
  std::string language;  // "en", …; of an English model it is "en"
  std::vector<SpeechSegment> segments;

  /// The tokens of all segments.
  std::vector<int64_t> tokens() const;
};

/// Writes the text of speech with a Whisper, which is compiled, by the token of the highest score. Copies share the
/// model and its cache; one thread uses them at a time.
class Transcriber {
 public:
  /// Loads a folder of a Whisper with its tokenizer and the files that say how sound is prepared and which tokens steer
  /// the model (preprocessor_config.json, generation_config.json). UserError for another family.
  static Transcriber load(const std::string& folder, const hub::LoadOptions& options = {});

  /// Returns the text of a sound. One that is longer than a chunk, which is 30 seconds, is divided as transformers
  /// does it: the model writes times too, and each part begins where the last complete segment ends. With `chunks`, and
  /// where the model has no tokens for times, it is divided into consecutive chunks, whose texts are joined; words at
  /// their ends may be lost. `on_segment` is called with each segment when it is complete. UserError for a language or
  /// a task that the model does not have.
  Transcription transcribe(const hub::Audio& audio, const TranscribeOptions& options = {},
                           const std::function<void(const SpeechSegment&)>& on_segment = {});
  /// The codes of the languages that the model knows, "en" of an English one.
  std::vector<std::string> languages() const;

 private:
  struct State;
  struct Run;
  explicit Transcriber(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
