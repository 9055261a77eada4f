#include <algorithm>
#include <array>

#include <fulgurite/error.h>
#include <fulgurite/extend.h>

#include "executors/executor_names.h"
#include "jit/jit_state.h"
#include "support/text/text.h"

namespace fulgurite::detail {

namespace {

constexpr std::array<std::string_view, 3> skippable_transforms{"cse", "dce", "recomputation"};

}  // namespace

void check_options(const JitOptions& options, SourceLocation at) {
  if (options.autocast && *options.autocast != Dtype::bf16 && *options.autocast != Dtype::f16)
    throw UserError(text::cat("jit: the option autocast is bf16 or f16, not ", *options.autocast), at);
  if (options.memory_budget && *options.memory_budget < 0)
    throw UserError(text::cat("jit: memory_budget is a number of bytes, not ", *options.memory_budget), at);
  const CacheLimits& limits = options.limits;
  const auto check = [&](const char* name, int64_t value, int64_t least) {
    if (value < least)
      throw UserError(text::cat("jit: limits.", name, " is ", value, ", and must be at least ", least), at);
  };
  check("versions", limits.versions.value_or(1), 1);
  check("sets_of_values", limits.sets_of_values, 1);
  check("traces", limits.traces, 0);
  check("warn_after", limits.warn_after, 0);
  check("refuse_after", limits.refuse_after, 0);
  check("bytes", limits.bytes.value_or(1), 1);
  if (options.skip_transforms)
    for (const std::string& name : *options.skip_transforms)
      if (std::ranges::find(skippable_transforms, name) == skippable_transforms.end())
        throw UserError(text::cat("jit: there is no transform \"", name, "\" to skip; those that can be skipped are ",
                                  text::join(skippable_transforms, [](std::string_view known) { return known; })),
                        at);
  const std::vector<std::string> known = all_executors();
  for (const std::string& name : options.executors)
    if (std::ranges::find(known, present_executor_name(name)) == known.end())
      throw UserError(text::cat("jit: there is no executor \"", name, "\"; registered are ",
                                text::join(known, [](const std::string& one) { return one; })),
                      at);
}

}  // namespace fulgurite::detail
