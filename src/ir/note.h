#pragma once
#include <string>

#include <fulgurite/trace.h>

namespace fulgurite {

/// An op that is only text: printed as comments, never executed.
BoundSymbol note_line(std::string text);
bool is_note(const BoundSymbol&);

}  // namespace fulgurite
