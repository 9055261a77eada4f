#pragma once
#include <string>
#include <string_view>

#include <fulgurite/number.h>

namespace fulgurite::text {

// Overloads by which cat() appends values of each kind.
void append(std::string& out, std::string_view);
void append(std::string& out, const char*);
void append(std::string& out, char);
void append(std::string& out, int64_t);
void append(std::string& out, double);  // shortest text that reads back equal; always with '.', 'e', "inf" or "nan"
/// A symbol as "i0=3": its name and value in the call being recorded, without a guard.
void append(std::string& out, Int);
void append(std::string& out, Float);
void append(std::string& out, Bool);  // "true" or "false"
template <class T>
requires std::integral<T> &&
    (!std::same_as<T, char>)&&(!std::same_as<T, int64_t>)void append(std::string& out, T value) {
  append(out, static_cast<int64_t>(value));
}
template <class T>
requires requires(const T& t) { std::string_view(t.text()); }
void append(std::string& out, const T& value) { append(out, std::string_view(value.text())); }
template <class T>
requires requires(T t) { name(t); }
void append(std::string& out, T value) { append(out, std::string_view(name(value))); }

/// Concatenates the texts of its arguments.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

/// "a, b, c" of the items' to_text(item).
template <class Range, class ToText>
std::string join(const Range& items, ToText to_text, std::string_view separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    append(out, to_text(item));
  }
  return out;
}

}  // namespace fulgurite::text
