#include "hub/generation/stop_filter.h"

#include <algorithm>
#include <utility>

#include <fulgurite/error.h>

namespace fulgurite::generation {

namespace {

// The length of the longest end of `text` that `stop` begins with, and that is not all of `stop`.
size_t begun(std::string_view text, std::string_view stop) {
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length)
    if (text.ends_with(stop.substr(0, length))) return length;
  return 0;
}

}  // namespace

StopFilter::StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    if (stop.empty()) throw UserError("generate: a text in stop is empty");
}

std::string StopFilter::put(std::string_view part) {
  if (is_stopped_) return "";
  held_ += part;
  size_t end = std::string::npos, hold = 0;
  for (const std::string& stop : stops_) {
    end = std::min(end, held_.find(stop));
    hold = std::max(hold, begun(held_, stop));
  }
  is_stopped_ = end != std::string::npos;
  if (!is_stopped_) end = held_.size() - hold;
  std::string out = held_.substr(0, end);
  held_.erase(0, is_stopped_ ? held_.size() : end);
  return out;
}

std::string StopFilter::finish() { return std::exchange(held_, {}); }

}  // namespace fulgurite::generation
