#pragma once
#include <functional>
#include <string>

namespace fulgurite::test {

/// The text that the process writes to stderr during `run`.
std::string stderr_text(const std::function<void()>& run);

}  // namespace fulgurite::test
