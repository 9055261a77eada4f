#include "executors/gemm/gemm_executor.h"

#include "executors/gemm/cost_model.h"
#include "executors/gemm/fuse_epilogues.h"

namespace fulgurite {

const Executor& products_executor() {
  static const Executor executor = [] {
    auto fusing = std::make_shared<Fusing>();
    fusing->candidate.executor = "products";
    fusing->supports = products::takes_product;
    fusing->fuse = [candidate = &fusing->candidate](const Trace& trace, FusionNames& names, FusingOptions options) {
      return products::fuse_products(trace, *candidate, names, options.allow_excess_precision);
    };
    fusing->may_pay = products::has_product;
    return Executor{"products", [](const Symbol&) -> const Implementation* { return nullptr; }, {}, fusing};
  }();
  return executor;
}

}  // namespace fulgurite
