#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fulgurite {

/// An environment variable that changes the library's behaviour.
struct EnvironmentVariable {
  std::string_view name, meaning, default_text;
};

/// All FULGURITE_ variables, sorted by name.
std::span<const EnvironmentVariable> environment_variables();

/// The value of the variable; nullopt if it is unset or empty. The name must be in the table.
std::optional<std::string> environment_value(std::string_view name);
/// The same as a positive integer; an unreadable value is reported on stderr and counts as unset.
std::optional<int64_t> environment_number(std::string_view name);

/// FULGURITE_CACHE_BYTES: the default limit of each cache of compiled functions, in bytes.
int64_t cache_bytes();

/// Names set in the environment that begin with FULGURITE_ and are not in the table.
std::span<const std::string> unknown_environment_variables();
/// Reports them on stderr at the first call.
void report_unknown_environment_variables();

}  // namespace fulgurite
