#include "codegen/kernel_header.h"

#include <algorithm>
#include <unordered_set>

namespace fulgurite::codegen {

// Defined in a file that the build writes from the headers.
extern const std::string_view vector_text, vector_memory_text, vector_math_text, vector_angles_text, vector_activations_text, vector_launch_text,
    vector_stream_text, vector_rows_text, vector_reductions_text, vector_wide_text, vector_transpose_text, vector_matrix_unit_text,
    vector_product_units_text, vector_register_tiles_text, vector_product_text;

namespace {

// Lines that a single piece of text does not need.
std::string without_directives(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.starts_with("#include") && !line.starts_with("#pragma once")) {
      out += line;
      out += '\n';
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Functions, types and constants; parameters and local variables hide nothing.
std::unordered_set<std::string> names_in(std::string_view text) {
  std::unordered_set<std::string> names{"infinity", "not_a_number", "lanes", "parts"};
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    const bool is_type = end > at && text[at] >= 'A' && text[at] <= 'Z';
    if (end > at && (is_type || (end < text.size() && text[end] == '('))) names.emplace(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

}  // namespace

std::string kernel_header(bool wide, bool angles, bool product) {
  std::string out = without_directives(vector_text) + without_directives(vector_memory_text) + without_directives(vector_math_text);
  if (angles) out += without_directives(vector_angles_text);
  out += without_directives(vector_activations_text) + without_directives(vector_launch_text) +
         without_directives(vector_stream_text) + without_directives(vector_rows_text) + without_directives(vector_reductions_text);
  if (wide) out += without_directives(vector_wide_text);
  if (product)
    out += without_directives(vector_transpose_text) + without_directives(vector_matrix_unit_text) + without_directives(vector_product_units_text) +
           without_directives(vector_register_tiles_text) + without_directives(vector_product_text);
  return out;
}

bool uses_wide(std::string_view text) {
  static constexpr std::string_view words[] = {"Doubles", "Longs", "to_doubles", "to_longs"};
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool uses_angles(std::string_view text) {
  static constexpr std::string_view words[] = {"tan(", "asin(", "acos(", "atan2(", "fmod("};
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_name_of_header(std::string_view name) {
  static const std::unordered_set<std::string> names = names_in(kernel_header(true, true, false));
  return names.contains(std::string(name));
}

}  // namespace fulgurite::codegen
