#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::data {

// Tables of text: `auto table = data::read_csv("iris.csv"); auto x = table.tensor({"length", "width"}); auto [y, names]
// = table.classes("species");`

/// Members are given in this order.
struct CsvOptions {
  char delimiter = ',';
  bool has_header = true;         // the first line holds the columns' names; without one they are "0", "1", …
  std::string_view missing = "";  // a cell of this text is missing: NaN among numbers; empty cells always are
};

/// The cells of a file by columns.
class CsvTable {
 public:
  CsvTable(std::string label, std::vector<std::string> names, std::vector<std::vector<std::string>> columns,
           std::string missing);
  int64_t rows() const { return columns_.empty() ? 0 : static_cast<int64_t>(columns_[0].size()); }
  const std::vector<std::string>& names() const { return names_; }
  /// UserError if there is no such column.
  const std::vector<std::string>& text(std::string_view column, SourceLocation at = SourceLocation::here()) const;
  /// Numbers [rows, columns] of all columns, or of those named. UserError naming the line for a cell without a number,
  /// and for a missing one unless the dtype is floating.
  Tensor tensor(Dtype dtype = Dtype::f32, SourceLocation at = SourceLocation::here()) const;
  Tensor tensor(const std::vector<std::string>& columns, Dtype dtype = Dtype::f32,
                SourceLocation at = SourceLocation::here()) const;
  /// The texts of a column as classes: i64 [rows], and the name of each class in the order of the alphabet.
  std::pair<Tensor, std::vector<std::string>> classes(std::string_view column,
                                                      SourceLocation at = SourceLocation::here()) const;

 private:
  size_t index_of(std::string_view column, SourceLocation at) const;
  double number(size_t column, size_t row, SourceLocation at) const;
  std::string label_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> columns_;
  std::string missing_;
};

/// Reads a file of lines of cells; cells in quotes may hold delimiters, quotes written twice, and line ends (RFC 4180).
/// Empty lines are skipped, and so is a byte order mark. UserError naming the file and the line for another number of
/// cells than the first line has, and for a quote that is not closed.
CsvTable read_csv(const std::string& path, const CsvOptions& options = {}, SourceLocation at = SourceLocation::here());
/// The same of a text.
CsvTable parse_csv(std::string_view text, const CsvOptions& options = {}, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite::data
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
