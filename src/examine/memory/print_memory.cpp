#include <algorithm>
#include <ostream>

#include <fulgurite/examine.h>

#include "support/text/text.h"

namespace fulgurite::examine {

namespace {

// "1536 B (1.5 KiB)"
std::string bytes_text(int64_t bytes) {
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  std::string out = text::cat(bytes, " B");
  if (bytes < 1024) return out;
  int64_t tenths = bytes * 10 / 1024;
  int unit = 0;
  for (; tenths >= 10240 && unit < 3; ++unit) tenths /= 1024;
  return text::cat(out, " (", tenths / 10, ".", tenths % 10, " ", units[unit], ")");
}

std::string padded(std::string text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string_view name_of(MemoryReport::Origin origin) {
  switch (origin) {
    case MemoryReport::Origin::input: return ", an input";
    case MemoryReport::Origin::result: return ", a result";
    case MemoryReport::Origin::made: return ", made in the forward";
    case MemoryReport::Origin::unknown: break;
  }
  return "";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const MemoryReport& report) {
  size_t width = text::cat(std::max(report.peak_bytes, report.input_bytes)).size();
  width = std::max(width, std::string_view("bytes").size());
  out << padded("bytes", width) << "  alive after\n"
      << padded(text::cat(report.input_bytes), width) << "  the inputs\n";
  for (size_t i = 0; i < report.lines.size(); ++i) {
    std::string text = report.lines[i].text;
    std::replace(text.begin(), text.end(), '\n', ' ');
    out << padded(text::cat(report.lines[i].bytes), width) << "  " << text
        << (report.peak_line == static_cast<int>(i) ? "  <- peak" : "") << '\n';
  }
  out << "inputs " << bytes_text(report.input_bytes) << ", results " << bytes_text(report.result_bytes) << ", peak "
      << bytes_text(report.peak_bytes) << '\n';
  if (report.saved.empty()) return out;
  out << "saved for backward: " << bytes_text(report.saved_bytes)
      << ", of it made in the forward for the backward alone " << bytes_text(report.saved_made_bytes) << '\n';
  for (const MemoryReport::Saved& saved : report.saved) {
    out << "  " << saved.name << ": \"" << saved.type << "\"";
    if (saved.shares_with.empty()) out << ", " << saved.bytes << " B" << name_of(saved.origin) << '\n';
    else out << ", shares the storage of " << saved.shares_with << '\n';
  }
  return out;
}

}  // namespace fulgurite::examine
