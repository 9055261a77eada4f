#include <unistd.h>

#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

#include <fulgurite/training.h>

namespace fulgurite::training {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double seconds_in_terminal = 0.1, seconds_elsewhere = 10;  // between two lines

// "1:05", "2:00:00"
std::string clock_text(double seconds) {
  const auto all = static_cast<long long>(std::llround(seconds));
  std::ostringstream out;
  if (all >= 3600) out << all / 3600 << ':' << std::setw(2) << std::setfill('0');
  out << all % 3600 / 60 << ':' << std::setw(2) << std::setfill('0') << all % 60;
  return out.str();
}

}  // namespace

struct ProgressLine::State {
  int64_t steps, done = 0;
  std::string title;
  std::ostream& out;
  bool is_terminal, line_is_open = false;
  Clock::time_point begin = Clock::now(), written = begin;

  State(int64_t steps, std::string_view title, std::ostream& out, bool is_terminal)
      : steps(steps), title(title), out(out), is_terminal(is_terminal) {}

  void step(std::string_view note) {
    ++done;
    const Clock::time_point now = Clock::now();
    const double since = Seconds(now - written).count();
    if (done < steps && since < (is_terminal ? seconds_in_terminal : seconds_elsewhere)) return;
    written = now;
    write(Seconds(now - begin).count(), note);
  }
  void write(double passed, std::string_view note) {
    const double rate = passed > 0 ? static_cast<double>(done) / passed : 0;
    std::ostringstream line;
    if (!title.empty()) line << title << ' ';
    line << done << '/' << steps << "  " << clock_text(passed);
    if (done < steps && rate > 0) line << ", " << clock_text(static_cast<double>(steps - done) / rate) << " left";
    line << ", " << std::setprecision(3) << rate << "/s";
    if (!note.empty()) line << "  " << note;
    out << (is_terminal ? "\r\033[K" : "") << line.str() << (is_terminal ? "" : "\n") << std::flush;
    line_is_open = is_terminal;
  }
  ~State() {
    if (line_is_open) out << '\n' << std::flush;
  }
};

ProgressLine::ProgressLine(int64_t steps, std::string_view title)
    : ProgressLine(steps, title, std::cerr, ::isatty(STDERR_FILENO) != 0) {}
ProgressLine::ProgressLine(int64_t steps, std::string_view title, std::ostream& out, bool is_terminal)
    : state_(std::make_unique<State>(steps, title, out, is_terminal)) {}
ProgressLine::~ProgressLine() = default;
ProgressLine::ProgressLine(ProgressLine&&) noexcept = default;
ProgressLine& ProgressLine::operator=(ProgressLine&&) noexcept = default;
void ProgressLine::step(std::string_view note) { state_->step(note); }

}  // namespace fulgurite::training
