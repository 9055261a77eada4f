#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "support/context.h"
#include "support/log.h"
#include "support/stderr_text.h"

namespace fulgurite::test {

/// The text that `run` reports on a channel, without the channel's name and the text of source files.
inline std::string reported(LogChannel channel, const std::function<void()>& run) {
  const uint32_t before = context().log_channels.exchange(uint32_t{1} << static_cast<int>(channel));
  std::string out;
  std::string text = stderr_text(run);
  context().log_channels = before;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (const size_t name = line.find("] "); name != std::string::npos) line = line.substr(name + 2);
    for (const std::string_view source : {", tutorial_test.cpp", "; tutorial_test.cpp", "; dynamic_test.cpp"})
      if (const size_t found = line.find(source); found != std::string::npos) line.resize(found);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

/// The lines of a text that contain a substring.
inline std::string lines_with(const std::string& text, std::string_view part) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.find(part) != std::string::npos) out += line + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace fulgurite::test
