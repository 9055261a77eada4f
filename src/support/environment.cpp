#include "support/environment.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <fulgurite/error.h>

#include "support/text/text.h"

extern char** environ;

namespace fulgurite {

namespace {

constexpr EnvironmentVariable variables[] = {
    {"FULGURITE_CACHE_BYTES",
     "Bytes, about, that each of these may take: what a jitted function keeps, where its options do not say; the "
     "backwards of eager operators; captured backwards.",
     "134217728"},
    {"FULGURITE_CACHE_VERSIONS", "Maximum number of cache entries of a jitted function, unless its options set it.",
     "4096"},
    {"FULGURITE_COMPILE_SECONDS", "How long the compiler of generated kernels may take.", "60"},
    {"FULGURITE_CXX", "The compiler of generated kernels: g++ or clang++, as a name or a path.", "g++, else clang++"},
    {"FULGURITE_EXECUTORS",
     "The executors that functions are compiled for by default, separated by commas; `eager` generates no kernels.",
     "`gemm,onednn,fuser`"},
    {"FULGURITE_KERNEL_CACHE", "The folder that keeps compiled kernels.",
     "`fulgurite` in `XDG_CACHE_HOME` or `~/.cache`"},
    {"FULGURITE_LOGS", "Log channels printed to stderr, separated by commas; `help` lists them.", "nothing"},
    {"FULGURITE_NUM_THREADS", "How many threads operators may use.", "the CPUs the process may use"},
};

bool is_known(std::string_view name) {
  for (const EnvironmentVariable& variable : variables)
    if (variable.name == name) return true;
  return false;
}

std::vector<std::string> find_unknown() {
  std::vector<std::string> unknown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.substr(0, 10) == "FULGURITE_" && !is_known(name)) unknown.emplace_back(name);
  }
  return unknown;
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return variables; }

int64_t cache_bytes() {
  static const int64_t bytes = environment_number("FULGURITE_CACHE_BYTES").value_or(int64_t{128} << 20);
  return bytes;
}

std::optional<std::string> environment_value(std::string_view name) {
  if (!is_known(name)) throw InternalError(text::cat(name, " is not in the table of environment variables"));
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

std::optional<int64_t> environment_number(std::string_view name) {
  const std::optional<std::string> value = environment_value(name);
  if (!value) return std::nullopt;
  int64_t number = 0;
  const char* end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number);
  if (error == std::errc() && stop == end && number > 0) return number;
  const std::string message =
      text::cat("fulgurite: ", name, "=", *value, " is not a positive whole number; it is ignored\n");
  std::fputs(message.c_str(), stderr);
  return std::nullopt;
}

std::span<const std::string> unknown_environment_variables() {
  static const std::vector<std::string> unknown = find_unknown();
  return unknown;
}

void report_unknown_environment_variables() {
  static const bool reported = [] {
    for (const std::string& name : unknown_environment_variables()) {
      std::string message =
          text::cat("fulgurite: the environment variable ", name, " is unknown and has no effect; known are");
      for (const EnvironmentVariable& variable : variables) text::append(message, text::cat(" ", variable.name));
      message += '\n';
      std::fputs(message.c_str(), stderr);
    }
    return true;
  }();
  static_cast<void>(reported);
}

}  // namespace fulgurite
