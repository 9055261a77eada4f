#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fulgurite {

/// A variable of the environment that changes what the library does.
struct EnvironmentVariable {
  std::string_view name, meaning, default_text;
};

/// Every FULGURITE_ variable, sorted by name: there are no others.
std::span<const EnvironmentVariable> environment_variables();

/// The value that the variable has; none when it is unset or empty. The name must be one of the table.
std::optional<std::string> environment_value(std::string_view name);
/// The same as a positive whole number; an unreadable value is said on stderr and counts as unset.
std::optional<int64_t> environment_number(std::string_view name);

/// FULGURITE_CACHE_BYTES: what each cache of compiled functions may take, in bytes, where nothing else is said.
int64_t cache_bytes();

/// Names set in the environment that begin with FULGURITE_ and are not in the table.
std::span<const std::string> unknown_environment_variables();
/// Says on stderr, the first time it is called, which those are.
void report_unknown_environment_variables();

}  // namespace fulgurite
