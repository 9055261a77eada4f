#include "transforms/pass_runner.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include <fulgurite/error.h>

#include "support/text/text.h"

namespace fulgurite {

namespace {

// Writes the trace to a file for the user and returns the path; "" if that fails too.
std::string dump(const Trace& trace, const std::string& title) {
  std::error_code failure;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failure);
  if (failure) return {};
  std::string name = title;
  for (char& c : name)
    if (c == ' ' || c == '/') c = '_';
  const std::filesystem::path path =
      folder / text::cat("fulgurite_", name, "_", static_cast<int64_t>(getpid()), ".txt");
  std::ofstream out(path);
  out << trace.python();
  return out.good() ? path.string() : std::string();
}

}  // namespace

const Trace& PassRunner::run(const std::string& title, const std::function<Trace(const Trace&)>& pass) {
  const auto start = std::chrono::steady_clock::now();
  Trace result = stages_.empty() ? pass(Trace()) : pass(stages_.back());
  result.provenance = title;
  result.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (check_) {
    try {
      check_trace(result);
    } catch (const InternalError& error) {
      const std::string path = dump(result, title);
      throw InternalError(text::cat("after \"", title, "\": ", error.what(),
                                    path.empty() ? std::string() : text::cat("\n  the trace is in ", path)));
    }
  }
  stages_.push_back(std::move(result));
  return stages_.back();
}

}  // namespace fulgurite
