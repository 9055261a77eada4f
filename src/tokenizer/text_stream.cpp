#include <fulgurite/tokenizer.h>

namespace fulgurite {

namespace {

constexpr std::string_view replacement = "\uFFFD";
constexpr size_t max_held_tokens = 16;  // tokens that may share incomplete characters

}  // namespace

TextStream::TextStream(Tokenizer tokenizer, const DecodeOptions& options)
    : tokenizer_(std::move(tokenizer)), options_(options) {}

std::string TextStream::put(int64_t id) {
  const bool has_text = tokenizer_.id_to_token(id).has_value();
  if (!has_text || (options_.skip_special_tokens && tokenizer_.is_special(id))) return "";
  window_.push_back(id);
  const std::string all = tokenizer_.decode(window_, options_);
  // Bytes that end a text may be the beginning of a character; after many tokens they are taken as they are.
  if (all.ends_with(replacement) && window_.size() - shown_ < max_held_tokens) return "";
  return finish();
}

std::string TextStream::finish() {
  const std::string all = tokenizer_.decode(window_, options_);
  const std::vector<int64_t> shown(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(shown_));
  const std::string before = tokenizer_.decode(shown, options_);
  window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(shown_));
  shown_ = window_.size();
  return all.size() > before.size() ? all.substr(before.size()) : "";
}

}  // namespace fulgurite
