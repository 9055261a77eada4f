#pragma once
#include <string>
#include <vector>

namespace fulgurite::codegen {

/// The outcome of a program that was run.
struct ProcessResult {
  enum class End : uint8_t { exited, killed, timed_out, not_started };
  End end = End::not_started;
  int status = 0;      // exit status, signal, or errno of starting
  std::string errors;  // the beginning of its stderr
};
/// Runs a program without a shell, in a process group of its own, with an empty stdin. Kills the whole group after
/// `seconds`. Looks up its name in PATH unless it contains a slash.
ProcessResult run_process(const std::vector<std::string>& arguments, double seconds);

/// The path of a program; empty if it is not found.
std::string find_program(const std::string& name);

}  // namespace fulgurite::codegen
