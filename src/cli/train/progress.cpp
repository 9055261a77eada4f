#include "cli/train/progress.h"

#include <unistd.h>

#include <cstdio>

namespace fulgurite::cli {

Progress::Progress(bool is_silent) : is_silent_(is_silent), is_terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::step(int64_t step, int64_t steps, double loss, double tokens_per_second, double seconds_left,
                    bool is_due) {
  if (is_silent_) return;
  const auto at = static_cast<long long>(step), all = static_cast<long long>(steps);
  if (is_terminal_) {
    std::fprintf(stderr, "\rstep %lld/%lld  loss %.4f  %.0f tokens/s  %.0f s left   ", at, all, loss, tokens_per_second,
                 seconds_left);
    line_is_open_ = true;
  } else if (is_due) {
    std::fprintf(stderr, "step %lld/%lld loss %.4f %.0f tokens/s\n", at, all, loss, tokens_per_second);
  }
}

void Progress::line(const std::string& text) {
  end_line("\r\033[K");
  if (!is_silent_) std::fprintf(stderr, "%s\n", text.c_str());
}

void Progress::end_line(const char* end) {
  if (line_is_open_) std::fputs(end, stderr);
  line_is_open_ = false;
}

}  // namespace fulgurite::cli
