#pragma once
#include <functional>
#include <string>

namespace fulgurite::test {

/// What `run` makes the process write to stderr.
std::string stderr_text(const std::function<void()>& run);

}  // namespace fulgurite::test
