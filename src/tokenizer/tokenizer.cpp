#include <algorithm>
#include <filesystem>

#include <fulgurite/error.h>
#include <fulgurite/tokenizer.h>

#include "hub/files.h"
#include "io/json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/component_json.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/model_folder.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/unicode.h"

namespace fulgurite {

using namespace tokenization;

struct Tokenizer::State {
  std::unique_ptr<const Normalizer> normalizer;
  std::unique_ptr<const PreTokenizer> pre_tokenizer;
  std::unique_ptr<const Model> model;
  std::unique_ptr<const PostProcessor> post_processor;
  std::unique_ptr<const Decoder> decoder;
  AddedTokens added;
  Roles roles;
  std::vector<int64_t> end_tokens;
  std::string chat_template;

  explicit State(const json::Node& root);
  /// The tokens of a text, with offsets in bytes.
  EncodedTokens encode(std::string_view text) const;
  Encoding encode_texts(const std::vector<std::string_view>& texts, const EncodeOptions& options) const;
  std::string_view token_text(int64_t id) const;
  void encode_segment(const AlignedText& text, Arena& arena, EncodedTokens& out) const;
};

namespace {

// Reads a component; the errors name it.
template <class Make>
auto read_component(const json::Node& root, std::string_view key, Make make) -> decltype(make(root)) {
  const json::Node* component = member(root, key);
  if (component == nullptr) return {};
  try {
    return make(*component);
  } catch (const UserError& error) {
    throw UserError(text::cat(key, ": ", error.what()));
  }
}

// The index of each byte's code point; empty for ASCII, where it is the byte's.
std::vector<uint32_t> code_point_indices(std::string_view text) {
  std::vector<uint32_t> out;
  if (is_ascii(text)) return out;
  out.reserve(text.size() + 1);
  uint32_t count = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++count;
    out.push_back(count - 1);
  }
  out.push_back(count);
  return out;
}

// Counts offsets in code points: a token of a part of one has all of it.
void count_code_points(EncodedTokens& tokens, std::string_view text) {
  const std::vector<uint32_t> indices = code_point_indices(text);
  if (indices.empty()) return;
  for (EncodedToken& token : tokens) {
    const bool is_empty = token.begin == token.end;
    token.begin = indices[token.begin];
    token.end = is_empty ? token.begin : indices[token.end - 1] + 1;
  }
}

void check_utf8(std::string_view text) {
  if (!is_utf8(text)) throw UserError("encode: the text is not UTF-8");
}

void truncate(EncodedTokens& tokens, int64_t max_length) {
  if (max_length < 0) throw UserError(text::cat("encode: max_length must be at least 0, it is ", max_length));
  if (max_length > 0 && static_cast<int64_t>(tokens.size()) > max_length)
    tokens.resize(static_cast<size_t>(max_length));
}

}  // namespace

Tokenizer::State::State(const json::Node& root) {
  normalizer = read_component(root, "normalizer", [](const json::Node& node) { return make_normalizer(node); });
  const json::Node* model_node = member(root, "model");
  if (model_node == nullptr) throw UserError("there is no \"model\"");
  const json::Node* splitter = member(root, "pre_tokenizer");
  const bool has_bytes = splitter != nullptr && can_have_bytes(*model_node) && ends_with_byte_level(*splitter);
  pre_tokenizer = read_component(root, "pre_tokenizer",
                                 [&](const json::Node& node) { return make_pre_tokenizer(node, has_bytes); });
  model = read_component(root, "model", [&](const json::Node& node) { return make_model(node, has_bytes); });
  post_processor =
      read_component(root, "post_processor", [](const json::Node& node) { return make_post_processor(node); });
  decoder = read_component(root, "decoder", [](const json::Node& node) { return make_decoder(node); });
  added =
      read_component(root, "added_tokens", [&](const json::Node& node) { return AddedTokens(node, normalizer.get()); });
}

EncodedTokens Tokenizer::State::encode(std::string_view text) const {
  Arena arena;
  EncodedTokens out;
  out.reserve(text.size() / 4 + 4);
  Segments raw, normalized;
  added.split_raw({text, nullptr, 0}, raw);
  for (const Segment& segment : raw) {
    normalized.clear();
    if (segment.id >= 0) normalized.push_back(segment);
    else added.split_normalized(normalizer ? normalizer->normalize(segment.text, arena) : segment.text, normalized);
    for (const Segment& part : normalized) {
      if (part.id < 0) {
        encode_segment(part.text, arena, out);
        continue;
      }
      const Range range = part.text.origin(0, part.text.text.size());
      const auto [leading, trailing] = count_spaces(part.text.text);
      out.push_back({.id = part.id,
                     .begin = range.begin,
                     .end = range.end,
                     .is_added = true,
                     .leading = leading,
                     .trailing = trailing});
    }
  }
  return out;
}

void Tokenizer::State::encode_segment(const AlignedText& text, Arena& arena, EncodedTokens& out) const {
  std::vector<Token> tokens;
  const auto encode_word = [&](const AlignedText& word) {
    tokens.clear();
    tokens.reserve(word.text.size() / 4 + 4);
    model->tokenize(word.text, tokens);
    for (const Token& token : tokens) {
      const Range range = word.origin(token.begin, token.end);
      out.push_back({.id = token.id, .begin = range.begin, .end = range.end});
    }
  };
  if (!pre_tokenizer) {
    if (!text.empty()) encode_word(text);
    return;
  }
  std::vector<AlignedText> words;
  pre_tokenizer->split(text, arena, words);
  for (const AlignedText& word : words) encode_word(word);
}

Tokenizer::Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Tokenizer Tokenizer::from_json(std::string_view text) {
  return Tokenizer(std::make_shared<const State>(json::parse(text)));
}

Tokenizer Tokenizer::load(const std::string& path) {
  const bool is_folder = std::filesystem::is_directory(path);
  const std::string file = is_folder ? hub::join_path(path, "tokenizer.json") : path;
  std::shared_ptr<State> state;
  try {
    state = std::make_shared<State>(json::parse(hub::read_text(file)));
  } catch (const UserError& error) {
    throw UserError(std::filesystem::exists(file) ? text::cat("\"", file, "\": ", error.what()) : error.what());
  }
  if (is_folder) {
    state->roles = read_roles(path);
    state->end_tokens = read_end_tokens(path);
    state->chat_template = read_chat_template(path);
  }
  return Tokenizer(state);
}

Encoding Tokenizer::State::encode_texts(const std::vector<std::string_view>& texts,
                                        const EncodeOptions& options) const {
  std::vector<EncodedTokens> parts;
  for (const std::string_view text : texts) {
    check_utf8(text);
    parts.push_back(encode(text));
    truncate(parts.back(), options.max_length);
    count_code_points(parts.back(), text);
  }
  const auto text_of = [this](int64_t id) { return token_text(id); };
  const EncodedTokens tokens = post_processor
                                   ? post_processor->process(std::move(parts), text_of, options.add_special_tokens)
                                   : join_parts(std::move(parts));
  Encoding out;
  out.ids.reserve(tokens.size());
  out.offsets.reserve(tokens.size());
  out.type_ids.reserve(tokens.size());
  out.special_tokens_mask.reserve(tokens.size());
  for (const EncodedToken& token : tokens) {
    out.ids.push_back(token.id);
    out.offsets.emplace_back(token.begin, token.end);
    out.type_ids.push_back(token.type);
    out.special_tokens_mask.push_back(token.is_special);
  }
  return out;
}

std::string_view Tokenizer::State::token_text(int64_t id) const {
  if (const AddedToken* token = added.find(id)) return token->content;
  const std::string* text = model->vocabulary().text(id);
  return text == nullptr ? std::string_view() : *text;
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return state_->encode_texts({text}, options);
}

Encoding Tokenizer::encode(std::string_view text, std::string_view second, const EncodeOptions& options) const {
  return state_->encode_texts({text, second}, options);
}

std::vector<Encoding> Tokenizer::encode_batch(const std::vector<std::string>& texts,
                                              const EncodeOptions& options) const {
  std::vector<Encoding> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) out.push_back(encode(text, options));
  return out;
}

std::string Tokenizer::decode(const std::vector<int64_t>& ids, const DecodeOptions& options) const {
  std::vector<std::string> tokens;
  for (const int64_t id : ids) {
    if (options.skip_special_tokens && is_special(id)) continue;
    if (auto token = id_to_token(id)) tokens.push_back(std::move(*token));
  }
  if (state_->decoder) state_->decoder->decode(tokens);
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!state_->decoder && i > 0) out += ' ';
    out += tokens[i];
  }
  return out;
}

std::optional<int64_t> Tokenizer::token_to_id(std::string_view token) const {
  if (const AddedToken* added = state_->added.find(token)) return added->id;
  const int64_t id = state_->model->vocabulary().find(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::string> Tokenizer::id_to_token(int64_t id) const {
  if (const AddedToken* added = state_->added.find(id)) return added->content;
  const std::string* text = state_->model->vocabulary().text(id);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

bool Tokenizer::is_special(int64_t id) const {
  const AddedToken* token = state_->added.find(id);
  return token != nullptr && token->is_special;
}

int64_t Tokenizer::vocabulary_size() const {
  int64_t size = state_->model->vocabulary().end();
  for (const AddedToken& token : state_->added.all()) size = std::max(size, token.id + 1);
  return size;
}

std::vector<int64_t> Tokenizer::end_tokens() const {
  if (!state_->end_tokens.empty()) return state_->end_tokens;
  const auto token = special_token("eos_token");
  const auto id = token ? token_to_id(*token) : std::nullopt;
  return id ? std::vector<int64_t>{*id} : std::vector<int64_t>{};
}

const std::string& Tokenizer::chat_template() const { return state_->chat_template; }

std::string Tokenizer::apply_chat_template(const std::vector<ChatMessage>& messages, const ChatOptions& options) const {
  if (state_->chat_template.empty())
    throw UserError(
        "apply_chat_template: the tokenizer has no chat template (chat_template.jinja, or \"chat_template\" of "
        "tokenizer_config.json); use ChatTemplate::parse");
  ChatOptions all = options;
  all.texts.insert(state_->roles.begin(), state_->roles.end());
  return ChatTemplate::parse(state_->chat_template).render(messages, all);
}

std::optional<std::string> Tokenizer::special_token(std::string_view role) const {
  const auto at = state_->roles.find(role);
  return at == state_->roles.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace fulgurite
