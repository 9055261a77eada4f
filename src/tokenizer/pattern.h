#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace fulgurite::tokenization {

/// A text or a regular expression that is searched for. Copies share the compiled expression, and threads may search
/// concurrently.
class Pattern {
 public:
  static Pattern literal(std::string text);
  /// Compiles an expression of Oniguruma's syntax, as tokenizer.json has them. UserError with the position if it does
  /// not compile.
  static Pattern regex(const std::string& expression);

  /// The text of a literal pattern; null for a regular expression.
  const std::string* literal() const { return regex_ == nullptr ? &literal_ : nullptr; }
  /// Calls `visit(begin, end)` for each match from left to right; matches do not overlap. UserError if a regular
  /// expression requires more steps than the limit.
  void for_each_match(std::string_view text, const std::function<void(size_t begin, size_t end)>& visit) const;

 private:
  struct Regex;
  std::string literal_;
  std::shared_ptr<const Regex> regex_;
};

/// Translates Oniguruma's classes to PCRE2's: \s, \w and \p{Han} have other members there.
std::string pcre2_syntax(std::string_view expression);

}  // namespace fulgurite::tokenization
