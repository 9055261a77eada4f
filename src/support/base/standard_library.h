#pragma once
#include <fulgurite/source_location.h>

namespace fulgurite {

/// True if the call was written in a header of the C++ standard library: through a std::function a jitted function is
/// called from bits/invoke.h, which tells a user nothing.
bool is_of_standard_library(SourceLocation);

}  // namespace fulgurite
