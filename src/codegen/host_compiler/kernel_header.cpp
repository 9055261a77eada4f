#include "codegen/host_compiler/kernel_header.h"

#include <unordered_set>

namespace fulgurite::codegen {

// Defined in a file that the build writes from the headers.
extern const std::string_view vector_text, memory_text, math_text, angles_text, activations_text, launch_text,
    stream_text, integers_text, rows_text, reductions_text, wide_text, transpose_text, amx_text, gemm_units_text,
    gemm_register_tiles_text, gemm_microkernel_text, one_lane_text, scalar_text, scalar_gemm_text;

namespace {

// Removes the directives that a single text does not need.
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

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Names of functions, types and constants; parameters and local variables do not matter.
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

std::string kernel_header(bool wide, bool angles, bool gemm) {
  std::string out = without_directives(vector_text) + without_directives(memory_text) + without_directives(math_text);
  if (angles) out += without_directives(angles_text);
  out += without_directives(activations_text) + without_directives(launch_text) + without_directives(stream_text) +
         without_directives(integers_text) + without_directives(rows_text) + without_directives(reductions_text);
  if (wide) out += without_directives(wide_text);
  if (gemm)
    out += without_directives(transpose_text) + without_directives(amx_text) + without_directives(gemm_units_text) +
           without_directives(gemm_register_tiles_text) + without_directives(gemm_microkernel_text);
  return out;
}

bool is_name_of_header(std::string_view name) {
  static const std::unordered_set<std::string> names = names_in(kernel_header(true, true, false));
  return names.contains(std::string(name));
}

std::string scalar_kernel_header() {
  return without_directives(one_lane_text) + without_directives(math_text) + without_directives(angles_text) +
         without_directives(activations_text) + without_directives(launch_text) + without_directives(scalar_text) +
         without_directives(scalar_gemm_text);
}

bool is_name_of_scalar_header(std::string_view name) {
  static const std::unordered_set<std::string> names = names_in(scalar_kernel_header());
  return names.contains(std::string(name));
}

}  // namespace fulgurite::codegen
