#pragma once
#include <stdexcept>

#include <fulgurite/fulgurite.h>

#include "codegen/ir/print_kernel.h"
#include "executors/fuser/fusion_kernel.h"
#include "executors/registry.h"
#include "support/test.h"

namespace fulgurite::test {

/// A fusion of the function's last trace, by its number.
template <class F>
const fuser::FusionKernel& fusion_of(const F& f, int number = 0) {
  const Trace trace = last_traces(f).back();
  for (const BoundSymbol& bound : trace.bound_symbols)
    if (bound.is_fusion() && number-- == 0)
      return dynamic_cast<const fuser::FusionKernel&>(*bound.implementation->fusion);
  throw std::runtime_error("there are fewer fusions");
}

/// Its kernel, then its row loops.
template <class F>
std::string ir_of(const F& f, int number = 0) {
  const fuser::FusionKernel& fusion = fusion_of(f, number);
  return codegen::kernel_ir_text(fusion.kernel()) + codegen::schedule_text(fusion.schedule());
}

}  // namespace fulgurite::test
