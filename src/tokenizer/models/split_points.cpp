#include "tokenizer/models/split_points.h"

#include <string>

#include "support/text/utf8.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

SplitPoints::SplitPoints(const Vocabulary& vocabulary) : is_token_(0x110000), pairs_(1024, none) {
  for (int64_t id = 0; id < vocabulary.end(); ++id) {
    const std::string* token = vocabulary.text(id);
    if (token == nullptr || !is_utf8(*token)) continue;
    const std::u32string text = utf32(*token);
    if (text.size() == 1) is_token_[text[0]] = true;
    for (size_t i = 1; i < text.size(); ++i) add(static_cast<uint64_t>(text[i - 1]) << 32 | text[i]);
  }
  const auto code_of = [](size_t index) { return index == 0 ? char32_t{0x2581} : static_cast<char32_t>(index); };
  for (size_t a = 0; a < frequent; ++a)
    for (size_t b = 0; b < frequent; ++b) splits_frequent_[a * frequent + b] = is_split(code_of(a), code_of(b));
}

void SplitPoints::add(uint64_t pair) {
  if (has_pair(pair)) return;
  if (++count_ * 2 > pairs_.size()) grow();
  size_t at = place(pair);
  while (pairs_[at] != none) at = (at + 1) & (pairs_.size() - 1);
  pairs_[at] = pair;
}

void SplitPoints::grow() {
  std::vector<uint64_t> old(pairs_.size() * 2, none);
  old.swap(pairs_);
  for (const uint64_t pair : old) {
    if (pair == none) continue;
    size_t at = place(pair);
    while (pairs_[at] != none) at = (at + 1) & (pairs_.size() - 1);
    pairs_[at] = pair;
  }
}

}  // namespace fulgurite::tokenization
