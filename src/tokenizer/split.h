#pragma once
#include <string_view>
#include <vector>

#include "tokenizer/aligned_text.h"
#include "tokenizer/pattern.h"

namespace fulgurite::tokenization {

/// The treatment of the matches at which a text is split.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// The behavior of a name in tokenizer.json: "Removed". UserError for others.
SplitBehavior split_behavior(std::string_view name);

/// Splits texts. Parts that are empty are skipped.
class Splitter {
 public:
  Splitter(SplitBehavior behavior, std::vector<AlignedText>& out) : behavior_(behavior), out_(out) {}
  /// Begins a text; the calls of `add` follow from left to right, and cover it.
  void begin(const AlignedText& text);
  void add(size_t begin, size_t end, bool is_match);
  void finish();

 private:
  void push(size_t begin, size_t end);
  SplitBehavior behavior_;
  std::vector<AlignedText>& out_;
  AlignedText text_;
  size_t pending_begin_ = 0, pending_end_ = 0;  // a part that may grow
  bool pending_is_match_ = false, has_pending_ = false;
};

/// Splits `text` at the matches of a pattern, or at what is between them if it is inverted.
void split(const AlignedText& text, const Pattern& pattern, SplitBehavior behavior, bool is_inverted,
           std::vector<AlignedText>& out);
/// Splits `text` at the code points for which the function is true.
void split(const AlignedText& text, bool (*is_match)(char32_t), SplitBehavior behavior, std::vector<AlignedText>& out);

}  // namespace fulgurite::tokenization
