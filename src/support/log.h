#pragma once
#include <cstdint>
#include <string_view>

namespace fulgurite {

/// Log channels on stderr, enabled by FULGURITE_LOGS.
enum class LogChannel : uint8_t { fusions, recompiles, traces, compiled_autograd, compiled_autograd_verbose };

/// Returns true if the channel is enabled; messages are formatted only then.
bool logs(LogChannel);
/// Writes the text in one call, each line prefixed with the channel's name in brackets.
void log(LogChannel, std::string_view text);

/// Prints a warning on stderr, regardless of the enabled channels.
void warn(std::string_view text);

/// Returns the channels of FULGURITE_LOGS, as bits; reports unknown names on stderr, and for `help` all channels.
uint32_t log_channels_of_environment();

}  // namespace fulgurite
