#pragma once
#include <fulgurite/source_reader.h>

namespace fulgurite {

/// The text of a line by the front end's reader; none where there is no reader.
std::optional<std::string> read_source(std::string_view file, int line);

}  // namespace fulgurite
