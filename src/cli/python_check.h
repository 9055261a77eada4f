#pragma once
#include <string>

#include <fulgurite/trace.h>

namespace fulgurite::cli {

/// The end of a Python file that contains a forward trace's function: it creates inputs, calls the function on PyTorch,
/// and compares the results with those that Fulgurite computes here from the same inputs. The program exits with 1 if
/// they differ.
std::string python_check(const Trace& forward);

}  // namespace fulgurite::cli
