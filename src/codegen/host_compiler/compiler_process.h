#pragma once
#include <string>
#include <vector>

namespace fulgurite::codegen {

/// How a program that was run ended.
struct ProcessResult {
  enum class End : uint8_t { exited, killed, timed_out, not_started };
  End end = End::not_started;
  int status = 0;      // exit status, signal, or errno of starting
  std::string errors;  // what it wrote on stderr, its beginning
};
/// Runs a program without a shell, in a process group of its own, with nothing on stdin. When `seconds` are over the whole group is
/// killed. Its name is looked up in PATH unless there is a slash in it.
ProcessResult run_process(const std::vector<std::string>& arguments, double seconds);

/// Where a program is found; empty when it is not.
std::string find_program(const std::string& name);

}  // namespace fulgurite::codegen
