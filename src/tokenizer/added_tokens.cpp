#include "tokenizer/added_tokens.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tokenizer/component_json.h"
#include "tokenizer/unicode.h"

namespace fulgurite::tokenization {

namespace {

// Returns the beginning of the code point that ends at `end`.
size_t before(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  return end;
}

bool ends_with_word(std::string_view text) {
  size_t at = text.empty() ? 0 : before(text, text.size());
  return !text.empty() && is_word(next(text, at));
}

bool begins_with_word(std::string_view text) {
  size_t at = 0;
  return !text.empty() && is_word(next(text, at));
}

// Returns the beginning of the white space that ends at `end`.
size_t skip_left(std::string_view text, size_t end) {
  while (end > 0) {
    const size_t begin = before(text, end);
    size_t at = begin;
    if (!is_whitespace(next(text, at))) break;
    end = begin;
  }
  return end;
}

size_t skip_right(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    size_t at = begin;
    if (!is_whitespace(next(text, at))) break;
    begin = at;
  }
  return begin;
}

AddedToken read_token(const json::Node& entry) {
  AddedToken token;
  token.content = string_member(entry, "content", "");
  token.id = integer_member(entry, "id", -1);
  if (token.content.empty() || token.id < 0) throw UserError("an added token needs \"content\" and \"id\"");
  token.is_special = bool_member(entry, "special", false);
  token.is_single_word = bool_member(entry, "single_word", false);
  token.takes_left_spaces = bool_member(entry, "lstrip", false);
  token.takes_right_spaces = bool_member(entry, "rstrip", false);
  token.is_normalized = bool_member(entry, "normalized", !token.is_special);
  return token;
}

}  // namespace

AddedTokens::AddedTokens(const json::Node& list, const Normalizer* normalizer) {
  for (const json::Node& entry : list.items) {
    tokens_.push_back(read_token(entry));
    const AddedToken& token = tokens_.back();
    if (!by_id_.try_emplace(token.id, tokens_.size() - 1).second)
      throw UserError(text::cat("two added tokens have the id ", token.id));
  }
  Arena arena;
  for (const AddedToken& token : tokens_) {
    if (token.is_normalized && normalizer != nullptr) {
      const AlignedText changed = normalizer->normalize({token.content, nullptr, 0}, arena);
      add(normalized_, std::string(changed.text), token);
    } else {
      add(token.is_normalized ? normalized_ : raw_, token.content, token);
    }
  }
}

void AddedTokens::add(Index& index, std::string content, const AddedToken& token) {
  if (content.empty()) return;
  const auto first = static_cast<unsigned char>(content[0]);
  if (!index.begins[first]) index.first_bytes += content[0];
  index.begins[first] = true;
  std::vector<Entry>& entries = index.entries[first];
  const auto is_shorter = [&](const Entry& entry) { return entry.content.size() < content.size(); };
  entries.insert(std::find_if(entries.begin(), entries.end(), is_shorter), {content, &token});
}

const AddedToken* AddedTokens::find(int64_t id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &tokens_[at->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto at =
      std::find_if(tokens_.begin(), tokens_.end(), [&](const AddedToken& token) { return token.content == content; });
  return at == tokens_.end() ? nullptr : &*at;
}

size_t AddedTokens::Index::next_begin(std::string_view text, size_t at) const {
  if (first_bytes.size() <= 1)  // "<" of most tokenizers
    return first_bytes.empty() ? text.size() : std::min(text.find(first_bytes[0], at), text.size());
  while (at < text.size() && !begins[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

const AddedTokens::Entry* AddedTokens::match(const Index& index, std::string_view text, size_t at) {
  for (const Entry& entry : index.entries[static_cast<unsigned char>(text[at])])
    if (text.compare(at, entry.content.size(), entry.content) == 0) return &entry;
  return nullptr;
}

void AddedTokens::split(const Index& index, const AlignedText& text, Segments& out) {
  const std::string_view all = text.text;
  size_t done = 0;
  for (size_t at = 0; (at = index.next_begin(all, at)) < all.size();) {
    const Entry* found = match(index, all, at);
    if (found == nullptr) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + found->content.size();
    at = end;
    const AddedToken& token = *found->token;
    if (token.is_single_word && (ends_with_word(all.substr(0, begin)) || begins_with_word(all.substr(end)))) continue;
    if (token.takes_left_spaces) begin = skip_left(all, begin);
    if (token.takes_right_spaces) end = skip_right(all, end);
    begin = std::max(begin, done);
    if (begin > done) out.push_back({text.part(done, begin), -1});
    out.push_back({text.part(begin, end), token.id});
    done = end;
    at = std::max(at, done);
  }
  if (done < all.size()) out.push_back({text.part(done, all.size()), -1});
}

}  // namespace fulgurite::tokenization
