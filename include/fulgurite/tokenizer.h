#pragma once
#include <fulgurite/detail/requirements.h>

// Texts to tokens and back, as a tokenizer.json of Hugging Face describes.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/chat_template.h>
#include <fulgurite/detail/given.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// The tokens of a text.
struct Encoding {
  std::vector<int64_t> ids;
  /// The part of the text that each token is of: [begin, end), counted in code points; {0, 0} for added ones.
  std::vector<std::pair<int64_t, int64_t>> offsets;
  std::vector<int64_t> type_ids;          // 1 for the second of two texts
  std::vector<bool> special_tokens_mask;  // true for tokens that are not of the text
};

/// Options of encoding.
struct EncodeOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  bool add_special_tokens = true;  // those that the model expects around a text
  int64_t max_length = 0;          // of the tokens of one text, without special tokens; 0: no limit
};

/// Options of decoding.
struct DecodeOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  bool skip_special_tokens = true;
};

/// Divides texts into a model's tokens: the kinds BPE, WordPiece, Unigram and WordLevel, with all steps before and
/// after them. Copies share the vocabulary, and threads may use one object concurrently. The truncation and padding
/// that a tokenizer.json may have are not applied.
class Tokenizer {
 public:
  /// Reads tokenizer.json of a folder, or a file; from a folder also tokenizer_config.json for the special tokens.
  /// UserError naming the file if it is missing, malformed, or has a component that the library does not have.
  static Tokenizer load(const std::string& path);
  /// Parses the text of a tokenizer.json.
  static Tokenizer from_json(std::string_view text);

  /// The tokens of a text. UserError if it is not UTF-8.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// The tokens of two texts, such as a question and a passage.
  Encoding encode(std::string_view text, std::string_view second, const EncodeOptions& options = {}) const;
  std::vector<Encoding> encode_batch(const std::vector<std::string>& texts, const EncodeOptions& options = {}) const;
  /// The text of tokens. Bytes that are not UTF-8 become U+FFFD; ids that there are not are skipped.
  std::string decode(const std::vector<int64_t>& ids, const DecodeOptions& options = {}) const;

  /// None if there is no such token.
  std::optional<int64_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(int64_t id) const;
  /// True for added tokens that are not text, such as those around a text.
  bool is_special(int64_t id) const;
  /// One more than the largest id.
  int64_t vocabulary_size() const;
  /// A token of tokenizer_config.json by its role: "bos_token", "eos_token", "pad_token", "unk_token", …; none if the
  /// file does not have it.
  std::optional<std::string> special_token(std::string_view role) const;
  /// The ids that end a model's text: "eos_token_id" of generation_config.json, or without this file of config.json;
  /// without a folder's model the role "eos_token".
  std::vector<int64_t> end_tokens() const;
  /// The text of a conversation, as the template of chat_template.jinja or of tokenizer_config.json writes it. It has
  /// its special tokens: encode it without adding any. UserError if the folder has no template, and as ChatTemplate.
  std::string apply_chat_template(const std::vector<ChatMessage>& messages, const ChatOptions& options = {}) const;
  /// The source of the template; empty if there is none.
  const std::string& chat_template() const;

 private:
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// Decodes tokens as they come. A character appears when its last byte has come; all texts together are those of
/// `decode`, if the decoder does not change earlier text (WordPiece's cleaning does).
class TextStream {
 public:
  explicit TextStream(Tokenizer tokenizer, const DecodeOptions& options = {});
  /// Returns the text that a token adds; it may be empty.
  std::string put(int64_t id);
  /// Returns the text that was held back, in which incomplete characters are U+FFFD.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  std::vector<int64_t> window_;  // the tokens whose text may still change, and one before them
  size_t shown_ = 0;             // tokens of the window whose text has been returned
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
