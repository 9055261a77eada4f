#include <ostream>
#include <sstream>

#include <fulgurite/examine.h>

#include "ir/analysis/trace_values.h"
#include "support/text/base_name.h"
#include "support/text/text.h"

namespace fulgurite {

namespace detail {

std::ostream& print_value(std::ostream& out, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none: return out << "None";
    case Value::Kind::tensor: return out << proxy_name(value);
    case Value::Kind::integer:
      return value.is_proxy() ? out << proxy_name(value) : out << text::cat(value.integer().hint());
    case Value::Kind::floating:
      return value.is_proxy() ? out << proxy_name(value) : out << text::cat(value.floating().hint());
    case Value::Kind::boolean:
      return value.is_proxy() ? out << proxy_name(value) : out << (value.boolean().hint() ? "true" : "false");
    case Value::Kind::string: return out << '"' << value.string() << '"';
    case Value::Kind::dtype: return out << value.dtype();
    case Value::Kind::device: return out << value.device();
    case Value::Kind::slice: return out << "Slice";
    case Value::Kind::ellipsis: return out << "...";
    case Value::Kind::list:
    case Value::Kind::collection: break;
  }
  if (value.is_collection()) return out << value.collection_name();
  out << '[';
  const char* separator = "";
  for (const Value& item : value.list()) {
    out << separator << item;
    separator = ", ";
  }
  return out << ']';
}

}  // namespace detail

namespace examine {

namespace {

void print_tensor(std::ostream& out, const char* what, const FusionInput& tensor) {
  out << "  " << what << ' ' << tensor.name << ": \"" << tensor.device << ' ' << tensor.dtype << tensor.shape
      << "\", strides " << tensor.strides;
  if (tensor.offset != 0) out << ", offset " << tensor.offset;
  if (!tensor.shares_with.empty()) out << ", shares the storage of " << tensor.shares_with;
  out << '\n';
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const FusionReport& report) {
  out << report.name << '\n';
  for (const FusionInput& input : report.inputs) print_tensor(out, "reads", input);
  for (const FusionInput& output : report.outputs) print_tensor(out, "makes", output);
  const auto rounded = [](double value) {
    return text::cat(static_cast<double>(static_cast<int64_t>(value * 100 + 0.5)) / 100);
  };
  const double bytes = static_cast<double>(report.bytes_read + report.bytes_written);
  out << "  " << report.bytes_read << " B read, " << report.bytes_written << " B written, " << report.operations
      << " operations, " << rounded(report.microseconds) << " us";
  if (report.microseconds > 0)
    out << " (" << rounded(bytes / report.microseconds / 1e3) << " GB/s, "
        << rounded(static_cast<double>(report.operations) / report.microseconds / 1e3) << " GFLOP/s, "
        << rounded(100 * report.share_of_limit) << " % of what the machine does at best)";
  if (!report.last_runs.empty()) out << "\n  last runs: " << text::join(report.last_runs, rounded) << " us";
  return out << '\n';
}

std::ostream& operator<<(std::ostream& out, const Difference& difference) {
  out << "line " << difference.line << ": " << difference.text;
  if (!difference.fusion.empty()) out << " in " << difference.fusion;
  out << ": " << difference.value << ": " << difference.detail;
  if (difference.source.line > 0) {
    const std::string_view file = text::base_name(difference.source.file);
    out << "; " << file << ':' << difference.source.line;
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, const BrokenPass& found) {
  out << "after \"" << found.pass << "\", stage " << found.stage << " of the "
      << (found.side == Stage::forward ? "forward" : "backward") << ": " << found.difference;
  if (!found.before.empty()) out << "; before it: " << found.before;
  return out;
}

}  // namespace examine

std::ostream& operator<<(std::ostream& out, const SharedVector<Value>& values) {
  out << '(';
  const char* separator = "";
  for (const Value& value : values) {
    out << separator << value;
    separator = ", ";
  }
  return out << (values.size() == 1 ? ",)" : ")");
}

std::ostream& operator<<(std::ostream& out, const std::vector<BoundSymbol>& symbols) {
  out << '[';
  for (size_t i = 0; i < symbols.size(); ++i) {
    std::ostringstream lines;
    lines << symbols[i];
    std::string text = std::move(lines).str();
    while (text.ends_with('\n')) text.pop_back();
    // Ops are printed below one another inside the bracket.
    for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2)) text.insert(at + 1, " ");
    out << (i == 0 ? "" : ",\n ") << text;
  }
  return out << ']';
}

}  // namespace fulgurite
