#include "tokenizer/models/model.h"

#include <bitset>
#include <cstdio>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/byte_characters.h"
#include "tokenizer/component_json.h"

namespace fulgurite::tokenization {

namespace {

// Whole words are tokens.
class WordLevel : public Model {
 public:
  explicit WordLevel(const json::Node& component) : unknown_(string_member(component, "unk_token", "")) {
    read_vocabulary(component);
  }
  void tokenize(std::string_view word, std::vector<Token>& out) const override {
    int64_t id = vocabulary_.find(word);
    if (id < 0) id = vocabulary_.find(unknown_);
    if (id < 0) throw UserError(text::cat("\"", printable(word), "\" is not a token, and there is no unknown token"));
    out.push_back({id, 0, static_cast<uint32_t>(word.size())});
  }

 private:
  std::string unknown_;
};

// Older files have no type.
std::string kind_of(const json::Node& component) {
  if (member(component, "type") != nullptr) return type_of(component, "model");
  if (member(component, "merges") != nullptr) return "BPE";
  const json::Node* vocabulary = member(component, "vocab");
  if (vocabulary != nullptr && vocabulary->is(json::Node::Kind::array)) return "Unigram";
  return member(component, "continuing_subword_prefix") != nullptr ? "WordPiece" : "WordLevel";
}

}  // namespace

void Model::read_vocabulary(const json::Node& component) {
  const json::Node* vocabulary = member(component, "vocab");
  if (vocabulary == nullptr || !vocabulary->is(json::Node::Kind::object))
    throw UserError("the model has no \"vocab\" of tokens and ids");
  for (const json::Member& token : vocabulary->members) {
    if (!token.value.is(json::Node::Kind::integer))
      throw UserError(text::cat("the token \"", printable(token.name), "\" has an id that is not a whole number"));
    vocabulary_.add(token.name, token.value.integer);
  }
}

std::string byte_token(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "<0x%02X>", byte);
  return text;
}

namespace {

bool has_all_bytes(const json::Node* vocabulary) {
  std::bitset<256> found;
  if (vocabulary == nullptr) return false;
  for (const json::Member& token : vocabulary->members) {
    if (token.name.size() > 2) continue;  // characters of bytes are below U+0800
    const auto bytes = bytes_of(token.name);
    if (bytes && bytes->size() == 1) found.set(static_cast<unsigned char>(bytes->front()));
  }
  return found.all();
}

}  // namespace

bool can_have_bytes(const json::Node& component) {
  const bool has_affixes = !string_member(component, "continuing_subword_prefix", "").empty() ||
                           !string_member(component, "end_of_word_suffix", "").empty();
  return kind_of(component) == "BPE" && !has_affixes && has_all_bytes(member(component, "vocab"));
}

std::unique_ptr<const Model> make_model(const json::Node& component, bool has_bytes) {
  const std::string type = kind_of(component);
  if (type == "BPE") return make_bpe(component, has_bytes);
  if (type == "WordPiece") return make_wordpiece(component);
  if (type == "Unigram") return make_unigram(component);
  if (type == "WordLevel") return std::make_unique<WordLevel>(component);
  throw UserError(text::cat("there is no model of type \"", printable(type), "\""));
}

}  // namespace fulgurite::tokenization
