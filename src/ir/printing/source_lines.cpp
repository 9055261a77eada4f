#include "ir/printing/source_lines.h"

#include <filesystem>
#include <fstream>

#include "ir/printing/source_reader.h"
#include "support/text/base_name.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

bool is_newer_than_program(const std::string& path) {
  std::error_code failure;
  const auto source = std::filesystem::last_write_time(path, failure);
  if (failure) return true;
  const auto program = std::filesystem::last_write_time("/proc/self/exe", failure);
  return !failure && source > program;
}

}  // namespace

const std::vector<std::string>& SourceLines::lines_of(const std::string& path) {
  const auto [at, is_new] = files_.try_emplace(path);
  if (!is_new || is_newer_than_program(path)) return at->second;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) at->second.push_back(std::move(line));
  return at->second;
}

std::string SourceLines::text(SourceLocation location) {
  std::string out = text::cat(text::base_name(location.file), ":", location.line);
  const std::optional<std::string> known = read_source(location.file, location.line);
  std::string line;
  if (known) {
    line = *known;
  } else {
    const std::vector<std::string>& lines = lines_of(location.file);
    if (location.line < 1 || static_cast<size_t>(location.line) > lines.size()) return out;
    line = lines[static_cast<size_t>(location.line) - 1];
  }
  const size_t first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t\r\n");
  // A backslash at the end would join the comment with the line below it.
  if (first != std::string::npos && line[last] != '\\')
    out += text::cat(": ", std::string_view(line).substr(first, last - first + 1));
  return out;
}

}  // namespace fulgurite
