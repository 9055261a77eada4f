#include <fulgurite/csv.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "io/byte_source.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::data {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

struct Line {
  std::vector<std::string> cells;
  int64_t number;  // in the file, from 1
};

class Reader {
 public:
  Reader(std::string_view text, char delimiter, std::string_view label, SourceLocation at)
      : text_(text), delimiter_(delimiter), label_(label), at_(at) {}

  std::vector<Line> lines() {
    if (text_.substr(0, byte_order_mark.size()) == byte_order_mark) position_ = byte_order_mark.size();
    std::vector<Line> out;
    while (position_ < text_.size()) {
      Line line = next_line();
      const bool is_empty = line.cells.size() == 1 && line.cells[0].empty();
      if (!is_empty) out.push_back(std::move(line));
    }
    return out;
  }

 private:
  Line next_line() {
    Line line{{}, number_};
    while (true) {
      line.cells.push_back(peek() == '"' ? quoted_cell() : plain_cell());
      if (peek() == delimiter_ && position_ < text_.size()) {
        ++position_;
        continue;
      }
      take_line_end();
      return line;
    }
  }
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool ends_cell() const {
    return position_ >= text_.size() || peek() == delimiter_ || peek() == '\n' || peek() == '\r';
  }
  std::string plain_cell() {
    const size_t begin = position_;
    while (!ends_cell()) ++position_;
    return std::string(text_.substr(begin, position_ - begin));
  }
  std::string quoted_cell() {
    std::string out;
    const int64_t first_line = number_;
    for (++position_; position_ < text_.size(); ++position_) {
      if (peek() == '\n') ++number_;
      if (peek() != '"') {
        out += peek();
        continue;
      }
      if (text_.substr(position_ + 1, 1) != "\"") {
        ++position_;
        if (!ends_cell()) fail(number_, "something follows a closing quote");
        return out;
      }
      out += text_[position_++];
    }
    fail(first_line, "a quote is not closed");
  }
  void take_line_end() {
    if (peek() == '\r') ++position_;
    if (peek() == '\n') ++position_;
    ++number_;
  }
  [[noreturn]] void fail(int64_t line, std::string_view reason) const {
    throw UserError(text::cat(label_, ", line ", line, ": ", reason), at_);
  }

  std::string_view text_;
  char delimiter_;
  std::string_view label_;
  SourceLocation at_;
  size_t position_ = 0;
  int64_t number_ = 1;
};

std::string trimmed(std::string_view cell) {
  const size_t first = cell.find_first_not_of(" \t"), last = cell.find_last_not_of(" \t");
  return first == std::string_view::npos ? "" : std::string(cell.substr(first, last - first + 1));
}

std::vector<std::string> column_names(const Line& first, const CsvOptions& options, std::string_view label,
                                      SourceLocation at) {
  std::vector<std::string> out;
  for (size_t i = 0; i < first.cells.size(); ++i)
    out.push_back(options.has_header ? trimmed(first.cells[i]) : std::to_string(i));
  for (size_t i = 0; i < out.size(); ++i)
    if (std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(i), out[i]) !=
        out.begin() + static_cast<std::ptrdiff_t>(i))
      throw UserError(text::cat(label, ": two columns are named \"", printable(out[i]),
                                "\"; for a file without a header give has_header = false"),
                      at);
  return out;
}

CsvTable table_of(std::string_view text, std::string label, const CsvOptions& options, SourceLocation at) {
  const std::vector<Line> lines = Reader(text, options.delimiter, label, at).lines();
  if (lines.empty()) throw UserError(text::cat(label, " has no lines"), at);
  const size_t width = lines[0].cells.size();
  std::vector<std::vector<std::string>> columns(width);
  for (size_t i = options.has_header ? 1 : 0; i < lines.size(); ++i) {
    if (lines[i].cells.size() != width)
      throw UserError(text::cat(label, ", line ", lines[i].number, ": ", lines[i].cells.size(),
                                " cells, the first line has ", width),
                      at);
    for (size_t j = 0; j < width; ++j) columns[j].push_back(lines[i].cells[j]);
  }
  std::vector<std::string> names = column_names(lines[0], options, label, at);
  return CsvTable(std::move(label), std::move(names), std::move(columns), std::string(options.missing));
}

}  // namespace

CsvTable::CsvTable(std::string label, std::vector<std::string> names, std::vector<std::vector<std::string>> columns,
                   std::string missing)
    : label_(std::move(label)), names_(std::move(names)), columns_(std::move(columns)), missing_(std::move(missing)) {}

size_t CsvTable::index_of(std::string_view column, SourceLocation at) const {
  const auto found = std::find(names_.begin(), names_.end(), column);
  if (found == names_.end())
    throw UserError(text::cat(label_, " has no column \"", printable(column), "\"; its columns are ",
                              text::join(names_, [](const std::string& name) { return printable(name); })),
                    at);
  return static_cast<size_t>(found - names_.begin());
}

const std::vector<std::string>& CsvTable::text(std::string_view column, SourceLocation at) const {
  return columns_[index_of(column, at)];
}

double CsvTable::number(size_t column, size_t row, SourceLocation at) const {
  const std::string cell = trimmed(columns_[column][row]);
  if (cell.empty() || cell == missing_) return std::nan("");
  double out = 0;
  const char* const begin = cell.data() + (cell[0] == '+' ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, cell.data() + cell.size(), out);
  if (error != std::errc() || end != cell.data() + cell.size())
    throw UserError(text::cat(label_, ", row ", row + 1, ", column ", printable(names_[column]), ": \"",
                              printable(cell), "\" is not a number"),
                    at);
  return out;
}

Tensor CsvTable::tensor(Dtype dtype, SourceLocation at) const { return tensor(names_, dtype, at); }

Tensor CsvTable::tensor(const std::vector<std::string>& columns, Dtype dtype, SourceLocation at) const {
  act_immediately("data::CsvTable::tensor()", at);
  std::vector<size_t> chosen;
  for (const std::string& column : columns) chosen.push_back(index_of(column, at));
  std::vector<double> numbers;
  numbers.reserve(chosen.size() * static_cast<size_t>(rows()));
  for (size_t row = 0; row < static_cast<size_t>(rows()); ++row)
    for (const size_t column : chosen) {
      numbers.push_back(number(column, row, at));
      const double found = numbers.back();
      if (is_floating(dtype) || (std::trunc(found) == found && std::abs(found) <= 0x1p53)) continue;
      throw UserError(
          text::cat(label_, ", row ", row + 1, ", column ", printable(names_[column]), ": ",
                    std::isnan(found) ? "a missing number" : "a number that is not whole", " cannot be ", name(dtype)),
          at);
    }
  const Tensor all = fulgurite::tensor(numbers, {.dtype = Dtype::f64}, at);
  return reshape(all, {rows(), static_cast<int64_t>(chosen.size())}, at).to(dtype, at);
}

std::pair<Tensor, std::vector<std::string>> CsvTable::classes(std::string_view column, SourceLocation at) const {
  act_immediately("data::CsvTable::classes()", at);
  const std::vector<std::string>& texts = text(column, at);
  std::map<std::string, int64_t> codes;
  for (const std::string& cell : texts) codes.emplace(trimmed(cell), 0);
  std::vector<std::string> names;
  for (auto& [name, code] : codes) {
    code = static_cast<int64_t>(names.size());
    names.push_back(name);
  }
  std::vector<int64_t> out;
  for (const std::string& cell : texts) out.push_back(codes.at(trimmed(cell)));
  return {fulgurite::tensor(out, {}, at), std::move(names)};
}

CsvTable read_csv(const std::string& path, const CsvOptions& options, SourceLocation at) {
  act_immediately("data::read_csv()", at);
  const auto source = open_file(path);
  std::string text(static_cast<size_t>(source->size()), '\0');
  source->read(0, text.data(), text.size());
  return table_of(text, path, options, at);
}

CsvTable parse_csv(std::string_view text, const CsvOptions& options, SourceLocation at) {
  act_immediately("data::parse_csv()", at);
  return table_of(text, "the text", options, at);
}

}  // namespace fulgurite::data
