#include <charconv>
#include <cmath>
#include <fstream>

#include <fulgurite/error.h>
#include <fulgurite/training.h>

#include "io/append_file.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::training {

namespace {

bool ends_with(std::string_view path, std::string_view suffix) {
  return path.size() >= suffix.size() && path.substr(path.size() - suffix.size()) == suffix;
}

// The shortest text that gives the number back.
std::string number_text(double value, bool is_json) {
  if (!std::isfinite(value)) return is_json ? "null" : std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char out[32];
  return std::string(out, std::to_chars(out, out + sizeof out, value).ptr);
}

std::string quoted(std::string_view cell) {
  if (cell.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(cell);
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

struct MetricsFile::State {
  AppendFile file;
  std::vector<std::string> columns;
  bool is_json;

  State(const std::string& path, std::vector<std::string> names, SourceLocation at)
      : columns(std::move(names)), is_json(ends_with(path, ".jsonl")) {
    if (columns.empty()) throw UserError("training::MetricsFile: there are no columns", at);
    std::string first_line;
    {
      std::ifstream before(path);
      std::getline(before, first_line);
    }
    const std::string header = text::join(
        columns, [](const std::string& name) { return quoted(name); }, ",");
    if (!is_json && !first_line.empty() && first_line != header)
      throw UserError(text::cat(path, " has the columns ", first_line, ", not ", header), at);
    file.open(path);
    if (!is_json && first_line.empty()) file.append(header + "\n");
  }

  std::string line(const std::vector<double>& values) const {
    std::string out;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += is_json ? ", " : ",";
      if (is_json) out += json::quote(columns[i]) + ": ";
      out += number_text(values[i], is_json);
    }
    return is_json ? "{" + out + "}\n" : out + "\n";
  }
};

MetricsFile::MetricsFile(const std::string& path, std::vector<std::string> columns, SourceLocation at)
    : state_(std::make_unique<State>(path, std::move(columns), at)) {}
MetricsFile::~MetricsFile() = default;
MetricsFile::MetricsFile(MetricsFile&&) noexcept = default;
MetricsFile& MetricsFile::operator=(MetricsFile&&) noexcept = default;

void MetricsFile::add(const std::vector<double>& values, SourceLocation at) {
  if (values.size() != state_->columns.size())
    throw UserError(
        text::cat("training::MetricsFile: ", values.size(), " numbers for ", state_->columns.size(), " columns"), at);
  state_->file.append(state_->line(values));
}

}  // namespace fulgurite::training
