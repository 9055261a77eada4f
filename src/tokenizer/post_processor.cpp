#include "tokenizer/post_processor.h"

#include <algorithm>
#include <unordered_map>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/byte_characters.h"
#include "tokenizer/component_json.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

using Parts = std::vector<EncodedTokens>;

EncodedToken special_token(int64_t id, int32_t type) {
  return {.id = id, .begin = 0, .end = 0, .type = type, .is_special = true};
}

void append_all(EncodedTokens& out, const EncodedTokens& more) { out.insert(out.end(), more.begin(), more.end()); }

bool is_space_character(char32_t c) { return c == character_of(' ') || is_whitespace(c); }

// Takes white space out of the offsets of each token. A single space of a text's first token may be one that the
// tokenizer added; as in the reference, it stays.
void trim_offsets(EncodedTokens& tokens, const TokenText& text_of, bool adds_space) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    EncodedToken& token = tokens[i];
    auto [leading, trailing] =
        token.is_added ? std::pair(token.leading, token.trailing) : count_spaces(text_of(token.id));
    if (leading == 1 && adds_space && (i == 0 || token.begin == 0)) leading = 0;
    token.begin = std::min(token.begin + leading, token.end);
    if (token.end >= trailing) token.end = std::max(token.end - trailing, token.begin);
  }
}

// The trimming of ByteLevel and RobertaProcessing.
struct Trimming {
  explicit Trimming(const json::Node& component)
      : is_on(bool_member(component, "trim_offsets", true)),
        adds_space(bool_member(component, "add_prefix_space", true)) {}
  void trim(Parts& parts, const TokenText& text_of) const {
    for (EncodedTokens& part : parts)
      if (is_on) trim_offsets(part, text_of, adds_space);
  }
  bool is_on, adds_space;
};

class ByteLevel : public PostProcessor {
 public:
  explicit ByteLevel(const json::Node& component) : trimming_(component) {}
  EncodedTokens process(Parts parts, const TokenText& text_of, bool) const override {
    trimming_.trim(parts, text_of);
    return join_parts(std::move(parts));
  }

 private:
  Trimming trimming_;
};

// ["[CLS]", 101]
int64_t read_pair(const json::Node& component, std::string_view key) {
  const auto& items = list_member(component, key);
  if (items.size() != 2 || !items[1].is(json::Node::Kind::integer))
    throw UserError(text::cat("\"", key, "\" must be [token, id]"));
  return items[1].integer;
}

// [CLS] text [SEP], and second [SEP] of type 1; RoBERTa has two separators between texts and no types.
class Bert : public PostProcessor {
 public:
  Bert(const json::Node& component, bool is_roberta)
      : begin_(read_pair(component, "cls")),
        end_(read_pair(component, "sep")),
        is_roberta_(is_roberta),
        trimming_(component) {
    trimming_.is_on = trimming_.is_on && is_roberta;
  }
  EncodedTokens process(Parts parts, const TokenText& text_of, bool adds_special_tokens) const override {
    trimming_.trim(parts, text_of);
    if (!adds_special_tokens) return join_parts(std::move(parts));
    EncodedTokens out;
    for (size_t i = 0; i < parts.size(); ++i) {
      const int32_t type = is_roberta_ ? 0 : static_cast<int32_t>(i);
      if (i == 0) out.push_back(special_token(begin_, 0));
      else if (is_roberta_) out.push_back(special_token(end_, 0));
      for (EncodedToken token : parts[i]) {
        token.type = type;
        out.push_back(token);
      }
      out.push_back(special_token(end_, type));
    }
    return out;
  }

 private:
  int64_t begin_, end_;
  bool is_roberta_;
  Trimming trimming_;
};

class Template : public PostProcessor {
 public:
  explicit Template(const json::Node& component) {
    if (const json::Node* tokens = member(component, "special_tokens"))
      for (const json::Member& token : tokens->members) read_special(token);
    single_ = read_items(component, "single");
    pair_ = read_items(component, "pair");
  }
  EncodedTokens process(Parts parts, const TokenText&, bool adds_special_tokens) const override {
    EncodedTokens out;
    for (const Item& item : parts.size() == 1 ? single_ : pair_) {
      if (item.part >= 0) {
        if (static_cast<size_t>(item.part) >= parts.size()) continue;
        for (EncodedToken token : parts[static_cast<size_t>(item.part)]) {
          token.type = item.type;
          out.push_back(token);
        }
      } else if (adds_special_tokens) {
        for (const int64_t id : specials_.at(item.special)) out.push_back(special_token(id, item.type));
      }
    }
    return out;
  }

 private:
  struct Item {
    int part = -1;  // 0 or 1; -1: special tokens
    std::string special;
    int32_t type = 0;
  };
  void read_special(const json::Member& token) {
    std::vector<int64_t>& ids = specials_[token.name];
    for (const json::Node& id : list_member(token.value, "ids")) ids.push_back(id.integer);
  }
  std::vector<Item> read_items(const json::Node& component, std::string_view key) const {
    std::vector<Item> items;
    if (member(component, key) == nullptr) return items;
    for (const json::Node& entry : list_member(component, key)) {
      Item item;
      if (const json::Node* text = member(entry, "Sequence")) {
        item.part = string_member(*text, "id", "A") == "A" ? 0 : 1;
        item.type = static_cast<int32_t>(integer_member(*text, "type_id", 0));
      } else if (const json::Node* special = member(entry, "SpecialToken")) {
        item.special = string_member(*special, "id", "");
        item.type = static_cast<int32_t>(integer_member(*special, "type_id", 0));
        if (specials_.count(item.special) == 0)
          throw UserError(text::cat("the template has the special token \"", printable(item.special),
                                    "\", which its \"special_tokens\" lack"));
      } else {
        throw UserError(text::cat("\"", key, "\" must be a list of Sequence and SpecialToken"));
      }
      items.push_back(item);
    }
    return items;
  }
  std::unordered_map<std::string, std::vector<int64_t>> specials_;
  std::vector<Item> single_, pair_;
};

// Trimming, then what adds tokens.
class Sequence : public PostProcessor {
 public:
  explicit Sequence(const json::Node& component) {
    for (const json::Node& item : list_member(component, "processors")) {
      const std::string type = type_of(item, "post-processor");
      if (type == "ByteLevel") trimmings_.emplace_back(item);
      else if (last_ == nullptr) last_ = make_post_processor(item);
      else throw UserError("two post-processors that add tokens follow each other, which is not supported");
    }
  }
  EncodedTokens process(Parts parts, const TokenText& text_of, bool adds_special_tokens) const override {
    for (const Trimming& trimming : trimmings_) trimming.trim(parts, text_of);
    return last_ ? last_->process(std::move(parts), text_of, adds_special_tokens) : join_parts(std::move(parts));
  }

 private:
  std::vector<Trimming> trimmings_;
  std::unique_ptr<const PostProcessor> last_;
};

}  // namespace

std::pair<uint32_t, uint32_t> count_spaces(std::string_view text) {
  uint32_t leading = 0, trailing = 0, count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    const bool is_space = is_space_character(next(text, at));
    if (is_space && leading == count) ++leading;
    trailing = is_space ? trailing + 1 : 0;
  }
  return {leading, trailing};
}

EncodedTokens join_parts(Parts parts) {
  EncodedTokens out = std::move(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    for (EncodedToken& token : parts[i]) token.type = 1;
    append_all(out, parts[i]);
  }
  return out;
}

std::unique_ptr<const PostProcessor> make_post_processor(const json::Node& component) {
  const std::string type = type_of(component, "post-processor");
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(component);
  if (type == "TemplateProcessing") return std::make_unique<Template>(component);
  if (type == "BertProcessing") return std::make_unique<Bert>(component, false);
  if (type == "RobertaProcessing") return std::make_unique<Bert>(component, true);
  if (type == "Sequence") return std::make_unique<Sequence>(component);
  throw UserError(text::cat("there is no post-processor of type \"", printable(type), "\""));
}

}  // namespace fulgurite::tokenization
