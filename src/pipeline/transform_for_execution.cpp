#include "pipeline/transform_for_execution.h"

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/trace_values.h"
#include "support/text.h"
#include "tracing/argument_pack.h"

namespace fulgurite {

namespace {

class Claims final : public ArgumentPack::Resolver {
 public:
  Claims(const Trace& trace, const std::vector<const Executor*>& executors) : trace_(trace), executors_(executors) {
    handles_.resize(trace.next_id);
  }

  Trace run() {
    std::vector<BoundSymbol> claimed;
    claimed.reserve(trace_.bound_symbols.size());
    for (const BoundSymbol& bound : trace_.bound_symbols) claim(bound, claimed);
    Trace out = without_symbols(trace_);
    out.bound_symbols = std::move(claimed);
    return out;
  }

  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override {
    Tensor& handle = handles_[proxy->id];
    if (!handle.defined()) handle = make_proxy_tensor(proxy, 0, {});
    return handle;
  }

 private:
  void claim(const BoundSymbol& bound, std::vector<BoundSymbol>& out) {
    const Symbol& symbol = *bound.symbol;
    if (bound.implementation || symbol.traits.structural || (symbol.traits.view && symbol.view)) {
      out.push_back(bound);
      return;
    }
    for (const Executor* executor : executors_) {
      const Implementation* implementation = executor->find(symbol);
      if (!implementation) continue;
      if (implementation->checker) {
        const ArgumentPack pack(bound, *this);
        if (!implementation->checker(pack.arguments())) continue;
      }
      out.push_back(bound);
      out.back().implementation = implementation;
      return;
    }
    if (bound.subsymbols.empty())
      throw UserError(text::cat("no executor implements ", symbol.qualified_name(), " for this call; the executors asked were ",
                                text::join(executors_, [](const Executor* e) { return e->name; })),
                      bound.source);
    for (BoundSymbol subsymbol : bound.subsymbols) {
      if (subsymbol.source.line == 0) subsymbol.source = bound.source;
      if (subsymbol.forward.empty()) subsymbol.forward = bound.forward;
      subsymbol.tags.add(bound.tags);
      claim(subsymbol, out);
    }
  }

  const Trace& trace_;
  const std::vector<const Executor*>& executors_;
  std::vector<Tensor> handles_;  // by proxy id
};

}  // namespace

Trace transform_for_execution(const Trace& trace, const std::vector<const Executor*>& executors) {
  return Claims(trace, executors).run();
}

}  // namespace fulgurite
