#pragma once
#include <cstdint>
#include <string_view>

namespace fulgurite {

/// What the library tells on stderr when FULGURITE_LOGS names it.
enum class LogChannel : uint8_t { fusions, recompiles, traces, compiled_autograd, compiled_autograd_verbose };

/// Whether anybody listens: texts are made only then.
bool logs(LogChannel);
/// Writes the text, each of its lines behind the channel's name in brackets, in one piece.
void log(LogChannel, std::string_view text);

/// Tells on stderr what whoever runs the program should know, whatever is listened to.
void warn(std::string_view text);

/// The channels that FULGURITE_LOGS names, as bits; says on stderr what is unknown, and for `help` what there is.
uint32_t log_channels_of_environment();

}  // namespace fulgurite
