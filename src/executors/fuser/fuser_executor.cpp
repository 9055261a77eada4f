#include "codegen/lowering/lower_group.h"
#include "executors/fuser/cost_model.h"
#include "executors/fuser/decompose_nll_loss.h"
#include "executors/fuser/fuse.h"
#include "executors/registry.h"

namespace fulgurite {

const Executor& fuser_executor() {
  static const Executor executor = [] {
    auto fusing = std::make_shared<Fusing>();
    fusing->candidate.executor = "fuser";
    fusing->supports = [](const BoundSymbol& bound) {
      return codegen::has_expression(bound) || fuser::is_class_loss(bound);
    };
    fusing->fuse = [candidate = &fusing->candidate](const Trace& trace, FusionNames& names, FusingOptions options) {
      return fuser::fuse(trace, *candidate, names, options);
    };
    fusing->may_be_profitable = fuser::may_be_profitable;
    return fusing_executor("fuser", fusing);
  }();
  return executor;
}

}  // namespace fulgurite
