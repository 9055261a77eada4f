#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include <fulgurite/profile.h>

#include "ir/printing/source_lines.h"

namespace fulgurite::examine {

namespace {

std::string formatted(const char* format, double value) {
  char out[48];
  std::snprintf(out, sizeof out, format, value);
  return out;
}

// "7.4 µs", "12.3 ms": three digits, eight columns.
std::string time_text(double microseconds) {
  if (microseconds >= 1e6) return formatted("%6.2f s ", microseconds / 1e6);
  if (microseconds >= 1e3)
    return formatted(microseconds >= 1e5   ? "%5.0f ms"
                     : microseconds >= 1e4 ? "%5.1f ms"
                                           : "%5.2f ms",
                     microseconds / 1e3);
  return formatted(microseconds >= 100 ? "%5.0f µs" : "%5.1f µs", microseconds);
}

// Nine columns.
std::string bytes_text(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= int64_t{1} << 30) return formatted("%5.1f GiB", value / (1 << 30));
  if (bytes >= 1 << 20) return formatted("%5.1f MiB", value / (1 << 20));
  if (bytes >= 1 << 10) return formatted("%5.1f KiB", value / (1 << 10));
  return formatted("%5.0f B  ", value);
}

std::string share_text(double part, double whole) {
  return whole > 0 ? formatted("%4.0f %%", 100 * part / whole) : "      ";
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

void print_ops(std::ostream& out, const Report::Part& part) {
  out << "    time      bytes  limit\n";
  SourceLines texts;
  SourceLocation last;
  for (const Report::Line& op : part.lines) {
    if (op.source.line != 0 && part.stage == Stage::forward && !(op.source == last)) {
      last = op.source;
      out << std::string(27, ' ') << "// " << texts.text(op.source) << '\n';
    }
    if (!op.is_statement || op.microseconds == 0) out << std::string(25, ' ');
    else if (op.bytes_read + op.bytes_written == 0) out << time_text(op.microseconds) << std::string(17, ' ');
    else
      out << time_text(op.microseconds) << ' ' << bytes_text(op.bytes_read + op.bytes_written) << ' '
          << formatted("%4.0f %%", 100 * op.share_of_limit);
    out << "  " << one_line(op.text);
    if (!op.executor.empty() && op.executor != "eager") out << "  // " << op.executor;
    out << '\n';
  }
}

void print_table(std::ostream& out, const char* title, const std::vector<Report::Row>& rows, double whole,
                 size_t most) {
  out << title << "\n    time  share  count      bytes   GFLOP\n";
  double rest = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Report::Row& row = rows[i];
    if (i >= most) {
      rest += row.microseconds;
      continue;
    }
    char count[16];
    std::snprintf(count, sizeof count, "%6d", row.count);
    out << time_text(row.microseconds) << ' ' << share_text(row.microseconds, whole) << ' ' << count << "  "
        << bytes_text(row.bytes) << ' ' << formatted("%7.2f", static_cast<double>(row.operations) / 1e9) << "  "
        << row.name << '\n';
  }
  if (rows.size() > most)
    out << time_text(rest) << ' ' << share_text(rest, whole) << "  " << rows.size() - most << " more\n";
}

void print_peak(std::ostream& out, const Report::Part& part) {
  const MemoryReport& memory = part.memory;
  out << "memory: " << bytes_text(memory.peak_bytes) << " alive at the peak";
  if (memory.peak_line >= 0) out << ", after " << one_line(part.lines[static_cast<size_t>(memory.peak_line)].text);
  out << "\n";
  constexpr size_t most = 10;
  int64_t rest = 0;
  for (size_t i = 0; i < part.at_the_peak.size(); ++i) {
    const Lifetime& life = part.at_the_peak[i];
    if (i >= most) rest += life.bytes;
    else
      out << "  " << bytes_text(life.bytes) << "  " << life.name << ": \"" << life.type << "\""
          << (life.first < 0 ? ", an input" : "") << '\n';
  }
  if (part.at_the_peak.size() > most)
    out << "  " << bytes_text(rest) << "  " << part.at_the_peak.size() - most << " more\n";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Report& report) {
  for (const Report::Part& part : report.parts) {
    out << part.name << ": " << time_text(part.microseconds) << " in " << part.runs
        << (part.runs == 1 ? " run\n" : " runs\n");
    print_ops(out, part);
    print_peak(out, part);
    out << '\n';
  }
  const double inside = report.in_lines();
  print_table(out, "by operator", report.by_operator(), inside, 20);
  out << '\n';
  print_table(out, "by line of the program", report.by_user_line(), inside, 20);
  out << "\nstep " << time_text(report.step) << ", of it in lines " << time_text(inside) << " ("
      << formatted("%.1f", 100 * inside / report.step) << " %); without the profile " << time_text(report.plain_step)
      << " (least " << time_text(report.least_step) << " and " << time_text(report.least_plain_step) << "; "
      << report.steps << " steps each)\n";
  return out;
}

}  // namespace fulgurite::examine
