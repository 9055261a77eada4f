#include <numbers>

#include <fulgurite/fulgurite.h>

#include "hub/audio/small_whisper.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

using Tokens = std::vector<int64_t>;

const std::string multilingual = R"({"eos_token_id": 16, "decoder_start_token_id": 17, "is_multilingual": true,
  "lang_to_id": {"<|en|>": 18, "<|de|>": 19}, "task_to_id": {"translate": 20, "transcribe": 21},
  "no_timestamps_token_id": 24, "suppress_tokens": [0, 2], "begin_suppress_tokens": [16, 1], "max_length": 448})";
const std::string english = R"({"eos_token_id": 16, "decoder_start_token_id": 17, "is_multilingual": false,
  "no_timestamps_token_id": 24})";

hub::Audio chirp(int64_t samples) {
  hub::Audio audio;
  for (int64_t i = 0; i < samples; ++i) {
    const double at = static_cast<double>(i) / 16000;
    audio.samples.push_back(static_cast<float>(0.4 * std::sin(2 * std::numbers::pi * (200 + 900 * at) * at)));
  }
  return audio;
}

// The tokens after a prompt, by complete forward passes without a cache.
Tokens greedy(const models::Whisper& model, const Tensor& features, Tokens tokens, const Tokens& suppress,
              const Tokens& begin_suppress) {
  const NoGrad no_grad;
  const size_t prompt = tokens.size();
  while (tokens.size() < 24) {
    const Tensor row = unsqueeze(tensor(tokens), 0);
    std::vector<float> scores = model(features, row)(0, -1).to_vector<float>();
    std::fill(scores.begin() + 25, scores.end(), -1e9F);
    for (const int64_t token : suppress) scores[static_cast<size_t>(token)] = -1e9F;
    if (tokens.size() == prompt)
      for (const int64_t token : begin_suppress) scores[static_cast<size_t>(token)] = -1e9F;
    const int64_t next = std::max_element(scores.begin(), scores.end()) - scores.begin();
    if (next == 16) break;
    tokens.push_back(next);
  }
  return {tokens.begin() + static_cast<std::ptrdiff_t>(prompt), tokens.end()};
}

struct Fixture {
  TestFolder folder;
  models::Whisper model;
  explicit Fixture(const std::string& generation, const std::string& more = "") : model(small_whisper(more)) {
    write_whisper(folder, model, generation, more);
  }
  Transcriber load() const { return Transcriber::load(folder.path); }
  Tensor features(const hub::Audio& audio) const { return hub::AudioProcessor::load(folder.path)(audio); }
};

}  // namespace

TEST("tokens are those of complete forward passes after the prompt of language and task") {
  const Fixture whisper(multilingual);
  Transcriber transcriber = whisper.load();
  expect_equal(transcriber.languages(), std::vector<std::string>{"de", "en"});
  const hub::Audio audio = chirp(12000);
  const auto wanted = [&](const Tokens& prompt) {
    return greedy(whisper.model, whisper.features(audio), prompt, {0, 2}, {16, 1});
  };
  const auto german = transcriber.transcribe(audio, {.language = "German"});
  expect_equal(german.tokens(), wanted({17, 19, 21, 24}));
  expect_equal(german.language, std::string("de"));
  expect_equal(transcriber.transcribe(audio, {.language = "<|EN|>", .task = "translate"}).tokens(),
               wanted({17, 18, 20, 24}));
  const Tensor first = whisper.model(whisper.features(audio), tensor({{17}}));
  const bool is_english = first(0, 0, 18).item<float>() > first(0, 0, 19).item<float>();
  const auto detected = transcriber.transcribe(audio);
  expect_equal(detected.language, std::string(is_english ? "en" : "de"));
  expect_equal(detected.tokens(), wanted({17, is_english ? 18 : 19, 21, 24}));
  expect_greater(german.tokens().size(), 3);
  const Tokens three = transcriber.transcribe(audio, {.language = "de", .max_tokens = 3}).tokens();
  const Tokens all = german.tokens();
  expect_equal(three, Tokens(all.begin(), all.begin() + 3));
}

TEST("an English model has no tokens of a language and of a task") {
  const Fixture whisper(english);
  Transcriber transcriber = whisper.load();
  const auto result = transcriber.transcribe(chirp(9000));
  expect_equal(result.tokens(), greedy(whisper.model, whisper.features(chirp(9000)), {17, 24}, {}, {}));
  expect_equal(result.language, std::string("en"));
  expect_equal(transcriber.languages(), std::vector<std::string>{"en"});
  expect_equal(transcriber.transcribe(chirp(9000), {.language = "english"}).tokens(), result.tokens());
  expect_error([&] { transcriber.transcribe(chirp(9), {.language = "de"}); },
               "transcribe: the model knows English only, the language is \"de\"");
  expect_error([&] { transcriber.transcribe(chirp(9), {.task = "translate"}); },
               "transcribe: the model knows English only, it does not translate");
}

TEST("settings that generation_config.json lacks come from the names of special tokens") {
  const Fixture whisper(R"({"eos_token_id": 16, "is_multilingual": true})");
  Transcriber transcriber = whisper.load();
  expect_equal(transcriber.languages(), std::vector<std::string>{"de", "en"});
  expect_equal(transcriber.transcribe(chirp(9000), {.language = "de"}).tokens(),
               greedy(whisper.model, whisper.features(chirp(9000)), {17, 19, 21, 24}, {}, {}));
}

TEST("a folder's language and task are those of calls that name none") {
  const std::string begin = multilingual.substr(0, multilingual.size() - 1);
  const auto tokens_of = [](const Fixture& whisper, const Tokens& prompt) {
    return greedy(whisper.model, whisper.features(chirp(9000)), prompt, {0, 2}, {16, 1});
  };
  const Fixture named(begin + R"(, "language": "german", "task": "translate", "forced_decoder_ids": [[1, 18]]})");
  Transcriber transcriber = named.load();
  expect_equal(transcriber.transcribe(chirp(9000)).tokens(), tokens_of(named, {17, 19, 20, 24}));
  expect_equal(transcriber.transcribe(chirp(9000), {.language = "en"}).tokens(), tokens_of(named, {17, 18, 20, 24}));
  expect_equal(transcriber.transcribe(chirp(9000), {.task = "transcribe"}).tokens(),
               tokens_of(named, {17, 19, 21, 24}));
  const Fixture forced(begin + R"(, "forced_decoder_ids": [[1, 19], [2, 20], [3, 24]]})");
  Transcriber older = forced.load();
  expect_equal(older.transcribe(chirp(9000)).tokens(), tokens_of(forced, {17, 19, 20, 24}));
  expect_equal(older.transcribe(chirp(9000), {.language = "en"}).tokens(), tokens_of(forced, {17, 18, 21, 24}));
  const Fixture detected(begin + R"(, "forced_decoder_ids": [[1, null], [2, 20]]})");
  const auto result = detected.load().transcribe(chirp(9000));
  expect_equal(result.tokens(), tokens_of(detected, {17, result.language == "en" ? 18 : 19, 20, 24}));
  const Fixture wrong(begin + R"(, "forced_decoder_ids": [3]})");
  expect_error([&] { wrong.load(); },
               wrong.folder.file("generation_config.json") +
                   ": \"forced_decoder_ids\" is of another kind, which is not supported; it must be a list of pairs");
}

TEST("longer sounds are divided into consecutive chunks if asked, and their texts are joined") {
  const Fixture whisper(english);
  Transcriber transcriber = whisper.load();
  const hub::Audio audio = chirp(36000);
  std::vector<std::string> shown;
  const auto result =
      transcriber.transcribe(audio, {.chunks = true}, [&](const SpeechSegment& one) { shown.push_back(one.text); });
  expect_equal(result.segments.size(), size_t{3});
  std::string joined;
  const auto chunks = hub::AudioProcessor::load(whisper.folder.path).chunks(audio);
  const Tokenizer text = Tokenizer::load(whisper.folder.path);
  for (size_t i = 0; i < 3; ++i) {
    const SpeechSegment& segment = result.segments[i];
    expect_equal(segment.tokens, greedy(whisper.model, whisper.features(chunks[i]), {17, 24}, {}, {}));
    expect_equal(segment.begin, static_cast<double>(i));
    expect_equal(segment.end, i == 2 ? 2.25 : static_cast<double>(i + 1));
    expect_equal(segment.text, shown[i]);
    joined += text.decode(segment.tokens);
  }
  expect_equal(result.text, joined);
  expect(!result.text.empty());
}

TEST("with timestamps each segment begins and ends with a time, and times do not decrease") {
  const Fixture whisper(english);
  Transcriber transcriber = whisper.load();
  const auto result = transcriber.transcribe(chirp(36000), {.timestamps = true});
  double last = 0;
  for (const SpeechSegment& segment : result.segments) {
    expect_greater(segment.tokens.front(), 24);
    expect(segment.begin >= last - 1e-9 && segment.end >= segment.begin);
    last = segment.begin;
  }
  expect_greater(last, 1);
  expect_equal(transcriber.transcribe(chirp(36000)).tokens(), result.tokens());  // longer sounds need times
}

TEST("a model without tokens for times has texts of chunks only") {
  const Fixture whisper(R"({"eos_token_id": 16, "decoder_start_token_id": 17, "is_multilingual": false})");
  const std::string path = whisper.folder.file("tokenizer.json"), named = "notimestamps";
  std::string text = read_text(path);
  write_text(path, text.replace(text.find(named), named.size(), "nothing"));
  Transcriber transcriber = whisper.load();
  const auto result = transcriber.transcribe(chirp(20000));
  expect_equal(result.segments.size(), size_t{2});
  const auto prepare = hub::AudioProcessor::load(whisper.folder.path);
  const Tensor scores = whisper.model(prepare(chirp(20000)), tensor({{17}}))(0, 0);
  expect_equal(result.tokens().front(), argmax(scores).item<int64_t>());
  expect_error([&] { transcriber.transcribe(chirp(9), {.timestamps = true}); },
               "transcribe: the model has no tokens for times (no_timestamps_token_id)");
}

TEST("languages, tasks and settings that there are not are refused") {
  const Fixture whisper(multilingual);
  Transcriber transcriber = whisper.load();
  const auto refused = [&](const TranscribeOptions& options, const std::string& message) {
    expect_error([&] { transcriber.transcribe(chirp(9), options); }, "transcribe: " + message);
  };
  refused({.language = "xx"}, "there is no language \"xx\"; there are de, en");
  refused({.language = "fr"}, "there is no language \"fr\"; there are de, en");
  refused({.language = "germn"}, "there is no language \"germn\"; did you mean german?");
  refused({.task = "sing"}, "there is no task \"sing\"; there are transcribe and translate");
  refused({.timestamps = true, .chunks = true}, "texts of consecutive chunks have no timestamps; choose one of both");
  refused({.max_tokens = -1}, "max_tokens must be at least 0, it is -1");
}

TEST("folders that do not fit together are refused") {
  const Fixture whisper(english);
  const auto& folder = whisper.folder;
  write_text(folder.file("preprocessor_config.json"),
             R"({"feature_extractor_type": "WhisperFeatureExtractor", "chunk_length": 1})");
  expect_error([&] { whisper.load(); },
               "Transcriber: sound is prepared to 80 bins and 100 frames, the model takes 8 and 100");
  write_text(folder.file("config.json"), small_llama_config());
  expect_error(
      [&] { whisper.load(); },
      folder.file("config.json") +
          ": \"model_type\" is \"llama\", which is not supported; speech is transcribed by the family whisper");
  const Fixture other(R"({"suppress_tokens": "all"})");
  expect_error([&] { other.load(); },
               other.folder.file("generation_config.json") + ": \"suppress_tokens\" must be a list of whole numbers");
}
