#include "hub/audio/speech_settings.h"

#include <algorithm>
#include <filesystem>

#include <fulgurite/error.h>
#include <fulgurite/hub/config.h>

#include "hub/audio/languages.h"
#include "hub/files.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

// The vocabulary of the smallest multilingual model; that of English ones has one token less.
constexpr int64_t multilingual_vocabulary = 51865;

std::string path_of_settings(const std::string& folder) {
  const std::string path = join_path(folder, "generation_config.json");
  return std::filesystem::exists(path) ? path : join_path(folder, "config.json");
}

std::optional<int64_t> optional_integer(const Config& config, std::string_view key) {
  return config.has(key) ? std::optional(config.integer(key)) : std::nullopt;
}

std::map<std::string, int64_t> read_languages(const Config& config, const Tokenizer& text) {
  std::map<std::string, int64_t> languages;
  const Config named = config.object("lang_to_id");
  for (const std::string& token : config.keys("lang_to_id")) languages[language_code(token)] = named.integer(token);
  if (config.has("lang_to_id")) return languages;
  for (const std::string_view code : language_codes())
    if (const auto token = text.token_to_id(text::cat("<|", code, "|>"))) languages[std::string(code)] = *token;
  return languages;
}

std::map<std::string, int64_t> read_tasks(const Config& config, const Tokenizer& text) {
  std::map<std::string, int64_t> tasks;
  const Config named = config.object("task_to_id");
  for (const char* task : {"transcribe", "translate"}) {
    auto token = optional_integer(named, task);
    if (!token) token = text.token_to_id(text::cat("<|", task, "|>"));
    if (token) tasks[task] = *token;
  }
  return tasks;
}

// The name of a token in one of the tables; empty if it has none.
std::string name_of(const std::map<std::string, int64_t>& table, const json::Node& token) {
  for (const auto& [name, id] : table)
    if (token.is(json::Node::Kind::integer) && token.integer == id) return name;
  return "";
}

// "language" and "task", which fine-tuned models have, or the older list of forced tokens by position, such as
// [[1, 50259], [2, 50359]].
void read_defaults(SpeechSettings& settings, const Config& config, const std::string& path) {
  settings.language = language_code(config.string("language", ""));
  settings.task = config.string("task", "");
  const json::Node root = json::parse(read_text(path));
  const json::Node* forced = root.find("forced_decoder_ids");
  if (forced == nullptr || !settings.language.empty() || !settings.task.empty()) return;
  for (const json::Node& entry : forced->items) {
    if (entry.items.size() != 2) config.refuse("forced_decoder_ids", "it must be a list of pairs");
    if (settings.language.empty()) settings.language = name_of(settings.languages, entry.items[1]);
    if (settings.task.empty()) settings.task = name_of(settings.tasks, entry.items[1]);
    settings.is_forced = true;
  }
}

std::vector<int64_t> end_tokens(const Tokenizer& text) {
  std::vector<int64_t> tokens = text.end_tokens();
  const auto named = text.token_to_id("<|endoftext|>");
  if (tokens.empty() && named) tokens.push_back(*named);
  if (tokens.empty()) throw UserError("Transcriber: the folder names no token that ends a text (eos_token_id)");
  return tokens;
}

}  // namespace

SpeechSettings read_speech_settings(const std::string& folder, const models::Whisper& model, const Tokenizer& text) {
  const std::string path = path_of_settings(folder);
  const Config config(read_text(path), path);
  SpeechSettings settings;
  const int64_t vocabulary = model.model.decoder.embed_tokens.weight.size(0);
  const bool may_be_multilingual = config.has("lang_to_id") || vocabulary >= multilingual_vocabulary;
  settings.is_multilingual = config.boolean("is_multilingual", may_be_multilingual);
  settings.start = config.integer("decoder_start_token_id", model.start_token);
  settings.no_timestamps = optional_integer(config, "no_timestamps_token_id");
  if (!settings.no_timestamps) settings.no_timestamps = text.token_to_id("<|notimestamps|>");
  settings.languages = read_languages(config, text);
  settings.tasks = read_tasks(config, text);
  if (settings.is_multilingual) read_defaults(settings, config, path);
  settings.suppress = config.integers("suppress_tokens");
  settings.begin_suppress = config.integers("begin_suppress_tokens");
  settings.end = end_tokens(text);
  settings.max_generated = optional_integer(config, config.has("max_new_tokens") ? "max_new_tokens" : "max_length");
  settings.max_initial_time = optional_integer(config, "max_initial_timestamp_index");
  return settings;
}

}  // namespace fulgurite::hub
