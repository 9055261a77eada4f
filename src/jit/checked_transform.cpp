#include "jit/checked_transform.h"

#include <optional>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

std::string type_of(const Value& value) {
  return value.is_tensor() ? value.tensor().type_text() : value.is_proxy() ? "a number" : "no proxy";
}

// Describes the argument that differs from before; callers pass what was recorded.
std::optional<std::string> changed_arguments(const Trace& before, const Trace& after) {
  const std::vector<Value> wanted = input_values(before), given = input_values(after);
  if (wanted.size() != given.size())
    return text::cat("it takes ", given.size(), " arguments, before it were ", wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is_proxy() != given[i].is_proxy() ||
        (wanted[i].is_proxy() && type_of(wanted[i]) != type_of(given[i])))
      return text::cat("its argument ", i, " is ", type_of(given[i]), ", before it was ", type_of(wanted[i]));
  }
  return {};
}

// The same for the results, which the caller takes apart by position.
std::optional<std::string> changed_results(const Trace& before, const Trace& after) {
  const BoundSymbol wanted = before.bound_symbols.back(), given = after.bound_symbols.back();
  const std::vector<Value> wanted_values = wanted.flat_args(), given_values = given.flat_args();
  if (wanted_values.size() != given_values.size() || wanted.kwargs.size() != given.kwargs.size())
    return text::cat("it returns ", given_values.size(), " values, before it were ", wanted_values.size());
  for (size_t i = 0; i < wanted_values.size(); ++i)
    if (wanted_values[i].is_tensor() != given_values[i].is_tensor())
      return text::cat("its result ", i, " is ", given_values[i].is_tensor() ? "a tensor" : "no tensor",
                       ", before it was the other");
  return {};
}

std::optional<std::string> fault(const Trace& before, const Trace& after) {
  try {
    check_trace(after);
  } catch (const InternalError& error) {
    return error.what();
  }
  if (auto changed = changed_arguments(before, after)) return changed;
  return changed_results(before, after);
}

}  // namespace

Transform checked_transform(Transform transform, std::string name, SourceLocation given_at) {
  return [transform = std::move(transform), name = std::move(name), given_at](const Trace& before) {
    Trace after = transform(before);
    if (const auto found = fault(before, after))
      throw UserError(
          text::cat("after ", name, ": ", *found,
                    "; a transform returns a complete trace, whose results have the types that its symbols' rules "
                    "infer"),
          given_at);
    return after;
  };
}

}  // namespace fulgurite::detail
