#pragma once
#include <fulgurite/source_location.h>

namespace fulgurite {

/// Returns true if the call was written in a header of the C++ standard library: a jitted function in a std::function
/// is called from bits/invoke.h, which does not help a user.
bool is_of_standard_library(SourceLocation);

}  // namespace fulgurite
