#include <algorithm>
#include <array>

#include <fulgurite/error.h>
#include <fulgurite/extend.h>

#include "jit/jit_state.h"
#include "support/text.h"

namespace fulgurite::detail {

namespace {

constexpr std::array<std::string_view, 3> skippable_transforms{"cse", "dce", "recomputation"};

}  // namespace

void check_options(const JitOptions& options, SourceLocation at) {
  if (options.autocast)
    throw UserError("jit: the option autocast is not supported yet; convert tensors with to(Dtype::bf16) where it pays",
                    at);
  if (options.compiled_autograd)
    throw UserError(
        "jit: the option compiled_autograd is not supported yet; use value_and_grad inside the jitted function, or "
        "call backward() outside it",
        at);
  if (options.memory_budget && *options.memory_budget < 0)
    throw UserError(text::cat("jit: memory_budget is a number of bytes, not ", *options.memory_budget), at);
  if (options.skip_transforms)
    for (const std::string& name : *options.skip_transforms)
      if (std::ranges::find(skippable_transforms, name) == skippable_transforms.end())
        throw UserError(text::cat("jit: there is no transform \"", name, "\" to skip; those that can be skipped are ",
                                  text::join(skippable_transforms, [](std::string_view known) { return known; })),
                        at);
  const std::vector<std::string> known = all_executors();
  for (const std::string& name : options.executors)
    if (std::ranges::find(known, name) == known.end())
      throw UserError(text::cat("jit: there is no executor \"", name, "\"; registered are ",
                                text::join(known, [](const std::string& one) { return one; })),
                      at);
}

}  // namespace fulgurite::detail
