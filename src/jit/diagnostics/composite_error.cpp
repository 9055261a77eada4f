#include "jit/diagnostics/composite_error.h"

#include "ops/core/dispatch.h"
#include "tensor/tensor_impl.h"
#include "tracing/argument_pack.h"

namespace fulgurite::detail {

namespace {

/// Handles of no trace, for printing their types.
class Types final : public ArgumentPack::Resolver {
 public:
  Tensor tensor(const Ref<TensorProxy>& proxy) override { return make_proxy_tensor(proxy, 0, {}); }
};

}  // namespace

void rethrow_for_composite(const std::vector<Trace>& stages, const CallError& error) {
  if (stages.empty() || error.at().line == 0) throw error;
  for (const BoundSymbol& bound : stages.front().bound_symbols) {
    if (!(bound.source == error.at()) || bound.subsymbols.empty()) continue;
    Types types;
    const ArgumentPack pack(bound, types);
    throw CallError(call_text(*bound.symbol, pack.arguments()), error, error.at());
  }
  throw error;
}

}  // namespace fulgurite::detail
