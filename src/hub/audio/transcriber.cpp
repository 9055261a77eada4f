#include <fulgurite/hub/transcriber.h>

#include <algorithm>
#include <limits>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/hub/generate.h>
#include <fulgurite/models/whisper.h>
#include <fulgurite/operators.h>

#include "hub/audio/languages.h"
#include "hub/audio/speech_segments.h"
#include "hub/audio/speech_settings.h"
#include "hub/audio/token_rules.h"
#include "support/text/text.h"

namespace fulgurite {

using hub::SpeechSettings;
using models::KeyValueCache;
using models::SourceCache;

namespace {

constexpr std::string_view english = "en";

int64_t highest(std::span<const float> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

void check(const TranscribeOptions& options, const SpeechSettings& settings) {
  if (options.max_tokens < 0)
    throw UserError(text::cat("transcribe: max_tokens must be at least 0, it is ", options.max_tokens));
  if (!options.task.empty() && options.task != "transcribe" && options.task != "translate")
    throw UserError(
        text::cat("transcribe: there is no task \"", options.task, "\"; there are transcribe and translate"));
  if (options.timestamps && options.chunks)
    throw UserError("transcribe: texts of consecutive chunks have no timestamps; choose one of both");
  if (options.timestamps && !settings.no_timestamps)
    throw UserError("transcribe: the model has no tokens for times (no_timestamps_token_id)");
  if (!settings.is_multilingual && options.task == "translate")
    throw UserError("transcribe: the model knows English only, it does not translate");
}

// The options with the folder's language and task, where they name none.
TranscribeOptions with_defaults(TranscribeOptions options, const SpeechSettings& settings) {
  const bool names_none = options.language.empty() && options.task.empty();
  if (names_none || !settings.is_forced) {
    if (options.language.empty()) options.language = settings.language;
    if (options.task.empty()) options.task = settings.task;
  }
  if (options.task.empty()) options.task = "transcribe";
  return options;
}

// The code of a language that the model has.
std::string checked_language(const std::string& language, const SpeechSettings& settings) {
  std::string code = hub::language_code(language);
  if (!settings.is_multilingual) {
    if (code == english) return code;
    throw UserError(text::cat("transcribe: the model knows English only, the language is \"", language, "\""));
  }
  if (settings.languages.count(code) != 0) return code;
  const std::string hint = hub::language_suggestion(language);
  std::string codes;
  for (const auto& [known, token] : settings.languages) codes += (codes.empty() ? "; there are " : ", ") + known;
  throw UserError(text::cat("transcribe: there is no language \"", language, "\"", hint.empty() ? codes : hint));
}

}  // namespace

struct Transcriber::State {
  hub::AudioProcessor processor;
  Tokenizer text;
  SpeechSettings settings;
  std::function<SourceCache(const Tensor& features)> encode;
  std::shared_ptr<SourceCache> encoded;  // the decoder's step reads it
  TokenGenerator decoder;
  int64_t max_length;

  void set_features(const Tensor& features);
  std::string detect_language();
  std::vector<int64_t> prompt(const std::string& language, const std::string& task, bool has_times) const;
  std::vector<int64_t> generate(const std::vector<int64_t>& prompt, int64_t max_tokens, bool has_times);
  SpeechSegment segment(double begin, double end, const std::vector<int64_t>& tokens) const;
  static State make(models::Whisper model, hub::AudioProcessor processor, Tokenizer text, SpeechSettings settings);
};

Transcriber::State Transcriber::State::make(models::Whisper model, hub::AudioProcessor processor, Tokenizer text,
                                            SpeechSettings settings) {
  using models::Whisper;
  const auto encode =
      jit([](Whisper m, Tensor features) { return m.encode(features); }, TokenGenerator::step_options());
  const auto step = jit([](Whisper m, Tensor tokens, Tensor positions, Tensor rows, KeyValueCache cache,
                           SourceCache source) { return m.step(tokens, positions, rows, cache, source); },
                        TokenGenerator::step_options());
  const auto encoded = std::make_shared<SourceCache>();
  const auto encode_features = [model, encode](const Tensor& features) { return encode(model, features); };
  const auto decode = [model, step, encoded](const Tensor& tokens, const Tensor& positions, const Tensor& rows,
                                             const KeyValueCache& cache) {
    return step(model, tokens, positions, rows, cache, *encoded);
  };
  const auto cache = [model](int64_t capacity, int64_t texts) { return make_cache(model, capacity, texts); };
  const int64_t length = model.max_length();
  TokenGenerator decoder(decode, cache, {length, 0}, settings.end);
  return {std::move(processor), std::move(text), std::move(settings), encode_features, encoded, decoder, length};
}

void Transcriber::State::set_features(const Tensor& features) {
  decoder.forget();
  *encoded = encode(features);
}

std::string Transcriber::State::detect_language() {
  if (!settings.is_multilingual) return std::string(english);
  const int64_t first[] = {settings.start};
  const std::vector<float> scores = decoder.scores(first).to_vector<float>();
  std::string best;
  float score = -std::numeric_limits<float>::infinity();
  for (const auto& [code, token] : settings.languages) {
    if (token < 0 || token >= static_cast<int64_t>(scores.size()) || scores[static_cast<size_t>(token)] <= score)
      continue;
    score = scores[static_cast<size_t>(token)];
    best = code;
  }
  if (best.empty()) throw UserError("transcribe: the model has no tokens of languages; name one with .language");
  return best;
}

std::vector<int64_t> Transcriber::State::prompt(const std::string& language, const std::string& task,
                                                bool has_times) const {
  std::vector<int64_t> tokens{settings.start};
  if (settings.is_multilingual) {
    const auto found = settings.tasks.find(task);
    if (found == settings.tasks.end())
      throw UserError(text::cat("transcribe: the model has no token of the task \"", task, "\""));
    tokens.push_back(settings.languages.at(language));
    tokens.push_back(found->second);
  }
  if (!has_times && settings.no_timestamps) tokens.push_back(*settings.no_timestamps);
  return tokens;
}

std::vector<int64_t> Transcriber::State::generate(const std::vector<int64_t>& prompt, int64_t max_tokens,
                                                  bool has_times) {
  int64_t limit = max_length - static_cast<int64_t>(prompt.size());
  if (settings.max_generated) limit = std::min(limit, *settings.max_generated);
  if (max_tokens > 0) limit = std::min(limit, max_tokens);
  std::vector<int64_t> tokens = prompt;
  const auto generated = [&] { return std::span<const int64_t>(tokens).subspan(prompt.size()); };
  while (static_cast<int64_t>(generated().size()) < limit) {
    std::vector<float> scores = decoder.scores(tokens).to_vector<float>();
    hub::apply_token_rules(scores, generated(), settings, has_times);
    const int64_t next = highest(scores);
    if (std::find(settings.end.begin(), settings.end.end(), next) != settings.end.end()) break;
    tokens.push_back(next);
  }
  return {generated().begin(), generated().end()};
}

SpeechSegment Transcriber::State::segment(double begin, double end, const std::vector<int64_t>& tokens) const {
  std::vector<int64_t> words;
  for (const int64_t token : tokens)
    if (!settings.is_time(token)) words.push_back(token);
  return {begin, end, text.decode(words), tokens};
}

// One call of `transcribe`.
struct Transcriber::Run {
  State& state;
  const TranscribeOptions options;
  const std::function<void(const SpeechSegment&)>& on_segment;
  Transcription out{};

  std::vector<int64_t> generate(const Tensor& features, bool has_times) {
    state.set_features(features);
    if (out.language.empty()) out.language = state.detect_language();
    return state.generate(state.prompt(out.language, options.task, has_times), options.max_tokens, has_times);
  }
  // Longer sound is divided at times, if the model has them.
  bool has_times(const hub::Audio& audio) const {
    const bool is_longer = static_cast<int64_t>(audio.samples.size()) > state.processor.chunk_samples();
    return options.timestamps || (is_longer && !options.chunks && state.settings.no_timestamps);
  }
  void transcribe(const hub::Audio& audio) {
    if (has_times(audio)) transcribe_with_times(audio);
    else transcribe_chunks(audio);
  }
  double seconds(int64_t samples) const {
    return static_cast<double>(samples) / static_cast<double>(state.processor.rate());
  }
  void add(SpeechSegment segment) {
    out.text += segment.text;
    segment.text = trimmed(segment.text);
    if (on_segment) on_segment(segment);
    out.segments.push_back(std::move(segment));
  }
  void transcribe_chunks(const hub::Audio& audio) {
    int64_t begin = 0;
    for (const hub::Audio& chunk : state.processor.chunks(audio)) {
      const int64_t end = begin + static_cast<int64_t>(chunk.samples.size());
      const std::vector<int64_t> tokens = generate(state.processor(chunk), false);
      add(state.segment(seconds(begin), seconds(end), tokens));
      begin = end;
    }
  }
  void transcribe_with_times(const hub::Audio& audio) {
    const Tensor all = state.processor.all_frames(audio);
    const int64_t frames = all.size(2), window = state.processor.feature_size()[1];
    for (int64_t at = 0; at < frames;) {
      const int64_t count = std::min(window, frames - at);
      const Tensor features = nn::pad(narrow(all, 2, at, count), {0, window - count});
      const auto [segments, used] = hub::divide_at_times(generate(features, true), count, state.settings);
      for (const hub::TimedTokens& timed : segments) add(timed_segment(timed, at));
      at += used;
    }
  }
  SpeechSegment timed_segment(const hub::TimedTokens& timed, int64_t frame) const {
    const auto time = [&](int64_t step) {
      return seconds((frame + hub::frames_of_step * step) * state.processor.hop());
    };
    return state.segment(time(timed.begin), time(timed.end), timed.tokens);
  }
};

std::vector<int64_t> Transcription::tokens() const {
  std::vector<int64_t> all;
  for (const SpeechSegment& segment : segments) all.insert(all.end(), segment.tokens.begin(), segment.tokens.end());
  return all;
}

Transcriber::Transcriber(std::shared_ptr<State> state) : state_(std::move(state)) {}

Transcriber Transcriber::load(const std::string& folder, const hub::LoadOptions& options) {
  const hub::Config config = hub::Config::read(folder);
  if (config.model_type() != "whisper") config.refuse("model_type", "speech is transcribed by the family whisper");
  const hub::AudioProcessor processor = hub::AudioProcessor::load(folder);
  const Tokenizer text = Tokenizer::load(folder);
  const auto model = hub::load<models::Whisper>(folder, options);
  const auto [bins, frames] = processor.feature_size();
  const auto [model_bins, model_frames] = model.feature_size();
  if (bins != model_bins || frames != model_frames)
    throw UserError(text::cat("Transcriber: sound is prepared to ", bins, " bins and ", frames,
                              " frames, the model takes ", model_bins, " and ", model_frames));
  SpeechSettings settings = hub::read_speech_settings(folder, model, text);
  return Transcriber(std::make_shared<State>(State::make(model, processor, text, std::move(settings))));
}

std::vector<std::string> Transcriber::languages() const {
  if (!state_->settings.is_multilingual) return {std::string(english)};
  std::vector<std::string> codes;
  for (const auto& [code, token] : state_->settings.languages) codes.push_back(code);
  return codes;
}

Transcription Transcriber::transcribe(const hub::Audio& audio, const TranscribeOptions& options,
                                      const std::function<void(const SpeechSegment&)>& on_segment) {
  check(options, state_->settings);
  const NoGrad no_grad;
  Run run{*state_, with_defaults(options, state_->settings), on_segment};
  const std::string& language = run.options.language;
  if (!language.empty()) run.out.language = checked_language(language, state_->settings);
  run.transcribe(hub::resample(audio, state_->processor.rate()));
  run.out.text = trimmed(run.out.text);
  return std::move(run.out);
}

}  // namespace fulgurite
