#pragma once
#include <map>
#include <string>

#include <fulgurite/tokenizer.h>

namespace fulgurite::test {

/// A tokenizer.json of these components; "null" for those that are not given.
inline std::string tokenizer_text(const std::string& model, const std::map<std::string, std::string>& parts = {}) {
  std::string out = "{\"model\": " + model;
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    const auto part = parts.find(key);
    out += std::string(", \"") + key + "\": " + (part == parts.end() ? "null" : part->second);
  }
  const auto added = parts.find("added_tokens");
  return out + ", \"added_tokens\": " + (added == parts.end() ? "[]" : added->second) + "}";
}

/// "he|llo" with the tokens of a text, separated by bars.
inline std::string tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  std::string out;
  for (const int64_t id : tokenizer.encode(text).ids) {
    if (!out.empty()) out += '|';
    out += tokenizer.id_to_token(id).value_or("?");
  }
  return out;
}

/// "0-2 2-5" with the offsets of a text's tokens.
inline std::string offsets_of(const Tokenizer& tokenizer, std::string_view text) {
  std::string out;
  for (const auto& [begin, end] : tokenizer.encode(text).offsets)
    out += (out.empty() ? "" : " ") + std::to_string(begin) + "-" + std::to_string(end);
  return out;
}

/// Words of a text are tokens: for tests of what comes before the model.
inline const std::string words_model = R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0}})";

/// The words of a text before the model, as the parts of the text that they are of: "0-2 3-5".
inline std::string words_of(const std::map<std::string, std::string>& parts, std::string_view text) {
  return offsets_of(Tokenizer::from_json(tokenizer_text(words_model, parts)), text);
}

}  // namespace fulgurite::test
