#include "support/expected_text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

namespace fulgurite::test {

namespace {

struct Edit {
  size_t begin = 0, end = 0;  // of the whole literal, R"(…)"
  std::string replacement;
};
struct SourceFile {
  std::string text;
  std::map<size_t, Edit> edits;  // by begin: a literal that is compared twice is edited once
};

std::map<std::string, SourceFile>& source_files() {
  static std::map<std::string, SourceFile> files;
  return files;
}

SourceFile& open_source(const std::string& path) {
  auto [at, fresh] = source_files().try_emplace(path);
  if (fresh) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    at->second.text = text.str();
  }
  return at->second;
}

std::string literal_of(std::string_view text) {
  std::string delimiter;
  while (text.find(")" + delimiter + "\"") != std::string_view::npos) delimiter += '-';
  std::string content(text);
  while (!content.empty() && content.back() == '\n') content.pop_back();
  return "R\"" + delimiter + "(\n" + content + "\n)" + delimiter + "\"";
}

// Every raw string in the file, as [begin, end) of the literal and its content.
template <class Visit>
void for_each_raw_string(std::string_view text, Visit&& visit) {
  size_t at = 0;
  while ((at = text.find("R\"", at)) != std::string_view::npos) {
    const size_t open = text.find('(', at);
    if (open == std::string_view::npos) return;
    const std::string_view delimiter = text.substr(at + 2, open - at - 2);
    if (delimiter.size() > 16 || delimiter.find_first_of(" \n\")\\") != std::string_view::npos) {
      at += 2;
      continue;
    }
    const std::string closing = ")" + std::string(delimiter) + "\"";
    const size_t close = text.find(closing, open);
    if (close == std::string_view::npos) return;
    visit(at, close + closing.size(), text.substr(open + 1, close - open - 1));
    at = close + closing.size();
  }
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

bool updates_expected_texts() {
  const char* wanted = std::getenv("UPDATE_EXPECT");
  return wanted && std::strcmp(wanted, "1") == 0;
}

bool note_expected_text(std::string_view actual, std::string_view expected, SourceLocation at) {
  SourceFile& source = open_source(at.file);
  // Compilers differ in which line of a call they report, so the literal is found by its content, nearest to that line.
  Edit best;
  int best_distance = -1;
  size_t scanned = 0;
  int line = 1;
  for_each_raw_string(source.text, [&](size_t begin, size_t end, std::string_view content) {
    line += static_cast<int>(std::count(source.text.begin() + scanned, source.text.begin() + begin, '\n'));
    scanned = begin;
    if (content != expected) return;
    const int distance = std::abs(line - at.line);
    if (best_distance >= 0 && distance >= best_distance) return;
    best_distance = distance;
    best = {begin, end, {}};
  });
  if (best_distance < 0) return false;
  best.replacement = literal_of(actual);
  source.edits[best.begin] = best;
  return true;
}

int write_expected_texts() {
  int written = 0;
  for (auto& [path, source] : source_files()) {
    for (auto edit = source.edits.rbegin(); edit != source.edits.rend(); ++edit, ++written)
      source.text.replace(edit->second.begin, edit->second.end - edit->second.begin, edit->second.replacement);
    if (!source.edits.empty()) std::ofstream(path, std::ios::binary) << source.text;
  }
  return written;
}

std::string compare_lines(std::string_view expected, std::string_view actual) {
  const auto a = split_lines(expected), b = split_lines(actual);
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::string out;
  const auto line = [&](const char* mark, std::string_view text) { out += mark + std::string(text) + "\n"; };
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) line("    ", a[i]), ++i, ++j;
    else if (i < a.size() && (j == b.size() || common[i + 1][j] >= common[i][j + 1])) line("  - ", a[i++]);
    else line("  + ", b[j++]);
  }
  return out;
}

}  // namespace fulgurite::test
