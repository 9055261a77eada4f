#include "tokenizer/split.h"

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

SplitBehavior split_behavior(std::string_view name) {
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  throw UserError(text::cat("there is no split behavior \"", printable(name),
                            "\"; there are Removed, Isolated, MergedWithPrevious, MergedWithNext and Contiguous"));
}

void Splitter::begin(const AlignedText& text) {
  text_ = text;
  has_pending_ = false;
}

void Splitter::push(size_t begin, size_t end) {
  if (end > begin) out_.push_back(text_.part(begin, end));
}

void Splitter::add(size_t begin, size_t end, bool is_match) {
  const auto keep_pending = [&] {
    pending_begin_ = begin;
    pending_end_ = end;
    pending_is_match_ = is_match;
    has_pending_ = true;
  };
  switch (behavior_) {
    case SplitBehavior::removed:
      if (!is_match) push(begin, end);
      return;
    case SplitBehavior::isolated: push(begin, end); return;
    case SplitBehavior::contiguous:
      if (has_pending_ && pending_is_match_ == is_match) {
        pending_end_ = end;
        return;
      }
      finish();
      keep_pending();
      return;
    case SplitBehavior::merged_with_previous:
      // A match joins the part before it, but not another match.
      if (has_pending_ && is_match && !pending_is_match_) {
        pending_end_ = end;
        pending_is_match_ = true;
        return;
      }
      finish();
      keep_pending();
      return;
    case SplitBehavior::merged_with_next:
      if (has_pending_ && pending_is_match_ && !is_match) {
        pending_end_ = end;
        pending_is_match_ = false;
        return;
      }
      finish();
      keep_pending();
      return;
  }
}

void Splitter::finish() {
  if (has_pending_) push(pending_begin_, pending_end_);
  has_pending_ = false;
}

void split(const AlignedText& text, const Pattern& pattern, SplitBehavior behavior, bool is_inverted,
           std::vector<AlignedText>& out) {
  Splitter splitter(behavior, out);
  splitter.begin(text);
  size_t done = 0;
  pattern.for_each_match(text.text, [&](size_t begin, size_t end) {
    if (begin > done) splitter.add(done, begin, is_inverted);
    splitter.add(begin, end, !is_inverted);
    done = end;
  });
  if (done < text.text.size()) splitter.add(done, text.text.size(), is_inverted);
  splitter.finish();
}

void split(const AlignedText& text, bool (*is_match)(char32_t), SplitBehavior behavior, std::vector<AlignedText>& out) {
  Splitter splitter(behavior, out);
  splitter.begin(text);
  size_t done = 0;
  for (size_t at = 0; at < text.text.size();) {
    const size_t begin = at;
    if (!is_match(next(text.text, at))) continue;
    if (begin > done) splitter.add(done, begin, false);
    splitter.add(begin, at, true);
    done = at;
  }
  if (done < text.text.size()) splitter.add(done, text.text.size(), false);
  splitter.finish();
}

}  // namespace fulgurite::tokenization
