#pragma once
#include <string>

#include <fulgurite/trace.h>

#include "ir/structural.h"

namespace fulgurite {

/// An op that is only text: printed as comments, never executed.
BoundSymbol note_line(const std::string& text);

}  // namespace fulgurite
