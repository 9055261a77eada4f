#include "executors/gemm/gemm_executor.h"

#include "executors/gemm/cost_model.h"
#include "executors/gemm/fuse_epilogues.h"

namespace fulgurite {

const Executor& gemm_executor() {
  static const Executor executor = [] {
    auto fusing = std::make_shared<Fusing>();
    fusing->candidate.executor = "gemm";
    fusing->supports = fused_gemm::accepts_gemm;
    fusing->fuse = [candidate = &fusing->candidate](const Trace& trace, FusionNames& names, FusingOptions options) {
      return fused_gemm::fuse_gemm_epilogues(trace, *candidate, names, options.allow_excess_precision);
    };
    fusing->may_be_profitable = fused_gemm::has_gemm;
    return fusing_executor("gemm", fusing);
  }();
  return executor;
}

}  // namespace fulgurite
