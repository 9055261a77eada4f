#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace fulgurite::hub {

/// "en" for "en", "English" and "<|en|>"; other texts in lower case, without "<|" and "|>".
std::string language_code(std::string_view language);
/// "; did you mean german?" for a name that is nearly one of a language; empty if there is none.
std::string language_suggestion(std::string_view language);
/// The codes of the languages that Whisper knows.
std::vector<std::string_view> language_codes();

}  // namespace fulgurite::hub
