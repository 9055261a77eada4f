#include <fulgurite/error_parts.h>

#include <charconv>

#include "support/context.h"

namespace fulgurite {

namespace {

// "matmul(cpu f32[2, 3], …): …" and "from_blob: …".
std::string operation_of(std::string_view message) {
  size_t length = 0;
  const auto is_part_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  while (length < message.size() && is_part_of_name(message[length])) ++length;
  const std::string_view rest = message.substr(length);
  return rest.starts_with('(') || rest.starts_with(": ") ? std::string(message.substr(0, length)) : std::string();
}

}  // namespace

ErrorParts parts_of(const UserError& error) {
  const std::string_view message = error.what();
  ErrorParts out;
  out.operation = operation_of(message);
  out.is_unknown_operator = message.starts_with("there is no operator '");
  constexpr std::string_view before_place = "\n  at ";
  const size_t place = message.rfind(before_place), colon = message.rfind(':');
  if (place == std::string_view::npos || colon == std::string_view::npos || colon < place) return out;
  const std::string_view number = message.substr(colon + 1);
  const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), out.line);
  if (failure != std::errc() || end != number.data() + number.size()) {
    out.line = 0;
    return out;
  }
  const size_t start = place + before_place.size();
  out.file = context().file_names.in_folder(message.substr(start, colon - start));
  return out;
}

}  // namespace fulgurite
