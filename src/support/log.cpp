#include "support/log.h"

#include <cstdio>
#include <string>

#include "support/context.h"
#include "support/environment.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

struct Channel {
  std::string_view name, meaning;
};
// In the order of LogChannel.
constexpr Channel channels[] = {
    {"fusions", "the fusions formed, and missed-fusion remarks"},
    {"recompiles", "each compile of a jitted function: why, which guard failed, and how long it took"},
    {"traces", "the traces of each compile, pass by pass"},
    {"compiled_autograd", "each backward that compiled autograd captures, as a trace"},
    {"compiled_autograd_verbose", "the same with strides, and why none of the earlier captures serves"},
};

void say(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

// Written in one call, each line prefixed with the name in brackets.
void say_as(std::string_view name, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += text::cat("[", name, "] ", text.substr(0, end), "\n");
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  say(out);
}

}  // namespace

bool logs(LogChannel channel) {
  return context().log_channels.load(std::memory_order_relaxed) >> static_cast<int>(channel) & 1;
}

void log(LogChannel channel, std::string_view text) { say_as(channels[static_cast<size_t>(channel)].name, text); }

void warn(std::string_view text) { say_as("fulgurite", text); }

uint32_t log_channels_of_environment() {
  const std::optional<std::string> value = environment_value("FULGURITE_LOGS");
  uint32_t wanted = 0;
  if (!value) return wanted;
  for (std::string_view rest = *value; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    bool is_known = name.empty();
    for (size_t i = 0; i < std::size(channels); ++i) {
      if (channels[i].name != name) continue;
      wanted |= uint32_t{1} << i;
      is_known = true;
    }
    if (is_known) continue;
    std::string text =
        name == "help" ? std::string("fulgurite: FULGURITE_LOGS takes these, separated by commas:\n")
                       : text::cat("fulgurite: FULGURITE_LOGS: ", name, " is unknown and has no effect; there are:\n");
    for (const Channel& channel : channels) text += text::cat("  ", channel.name, ": ", channel.meaning, "\n");
    say(text);
  }
  return wanted;
}

}  // namespace fulgurite
