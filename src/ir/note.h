#pragma once
#include <string>

#include <fulgurite/trace.h>

namespace fulgurite {

/// A line that is text alone: printed as comments, run by nobody.
BoundSymbol note_line(std::string text);
bool is_note(const BoundSymbol&);

}  // namespace fulgurite
