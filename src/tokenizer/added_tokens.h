#pragma once
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/json.h"
#include "support/containers/small_vector.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/models/model.h"
#include "tokenizer/normalizers/normalizer.h"

namespace fulgurite::tokenization {

/// A token that is found in the text before it is split.
struct AddedToken {
  std::string content;
  int64_t id = 0;
  bool is_single_word = false, takes_left_spaces = false, takes_right_spaces = false, is_normalized = true,
       is_special = false;
};

/// A part of a text: an added token, or text for the model (id -1).
struct Segment {
  AlignedText text;
  int64_t id = -1;
};

using Segments = SmallVector<Segment, 4>;

/// The added tokens of a tokenizer. Those with is_normalized are found in the normalized text, in their normalized
/// form.
class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(AddedTokens&&) = default;
  AddedTokens& operator=(AddedTokens&&) = default;
  /// Reads the list "added_tokens". UserError for entries that are not complete, or an id that two tokens have.
  AddedTokens(const json::Node& list, const Normalizer* normalizer);

  /// Appends the segments of a text: the longest token at the leftmost place first.
  void split_raw(const AlignedText& text, Segments& out) const { split(raw_, text, out); }
  void split_normalized(const AlignedText& text, Segments& out) const { split(normalized_, text, out); }

  const AddedToken* find(int64_t id) const;
  const AddedToken* find(std::string_view content) const;
  const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  // Contents by their first byte, the longest first.
  struct Entry {
    std::string content;
    const AddedToken* token;
  };
  struct Index {
    std::array<std::vector<Entry>, 256> entries;
    std::array<bool, 256> begins = {};  // true for the first bytes of contents
    std::string first_bytes;
    /// The next byte at or behind `at` that begins a content; the text's size if there is none.
    size_t next_begin(std::string_view text, size_t at) const;
  };
  static const Entry* match(const Index& index, std::string_view text, size_t at);
  static void split(const Index& index, const AlignedText& text, Segments& out);
  static void add(Index& index, std::string content, const AddedToken& token);

  std::vector<AddedToken> tokens_;
  std::unordered_map<int64_t, size_t> by_id_;
  Index raw_, normalized_;
};

}  // namespace fulgurite::tokenization
