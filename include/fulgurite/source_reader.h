#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// For front ends in other languages: the lines that traces and errors show.

/// The text as a string that stays as long as the process, for SourceLocation::file. Equal texts give one string.
/// Thread-safe.
const char* intern_file(std::string_view name);

/// The text of a line of a file, counted from 1; none where the file or the line is not known.
using SourceReader = std::function<std::optional<std::string>(std::string_view file, int line)>;
/// Is asked for the text of lines before files are read; what it does not know is read as C++ is. An empty one takes it
/// back. Called from any thread that prints a trace.
void set_source_reader(SourceReader reader);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
