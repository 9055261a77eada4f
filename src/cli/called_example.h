#pragma once
#include <utility>

#include <fulgurite/autograd.h>
#include <fulgurite/jit.h>
#include <fulgurite/operators.h>

#include "cli/example_models.h"

namespace fulgurite::cli {

/// A function, jitted, and its call with these arguments; with `runs_backward` also the backward of its result's sum.
template <class F, class... A>
Example called_example(F callable, const JitOptions& options, bool runs_backward, const A&... arguments) {
  const auto f = jit(std::move(callable), options);
  return {f, [f, runs_backward, arguments...] {
            const Tensor result = f(arguments...);
            if (runs_backward) sum(result).backward();
          }};
}

}  // namespace fulgurite::cli
