#pragma once
#include <string>

#include <fulgurite/source_location.h>

namespace fulgurite::detail {

/// "train.cpp:12"
std::string file_and_line(SourceLocation);

}  // namespace fulgurite::detail
