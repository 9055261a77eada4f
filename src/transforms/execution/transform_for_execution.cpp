#include "transforms/execution/transform_for_execution.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fulgurite/error.h>
#include <fulgurite/symbol.h>

#include "ir/analysis/trace_values.h"
#include "ir/custom_function.h"
#include "ops/core/user_operator.h"
#include "support/text/text.h"
#include "tracing/argument_pack.h"
#include "tracing/tracer.h"

namespace fulgurite {

namespace {

class Claims final : public ArgumentPack::Resolver {
 public:
  Claims(const Trace& trace, const std::vector<const Executor*>& executors) : trace_(trace), executors_(executors) {
    handles_.resize(trace.next_id);
  }

  Trace run() {
    SharedVector<BoundSymbol> claimed;
    claimed.reserve(trace_.bound_symbols.size());
    for (const BoundSymbol& bound : trace_.bound_symbols) claim(bound, claimed);
    Trace out = without_symbols(trace_);
    out.bound_symbols = std::move(claimed);
    if (tracer_) {
      out.next_id = tracer_->trace().next_id;
      out.next_name = tracer_->trace().next_name;
    }
    return out;
  }

  Tensor tensor(const detail::Ref<TensorProxy>& proxy) override {
    const auto id = static_cast<size_t>(proxy->id);
    if (id >= handles_.size()) handles_.resize(id + 1 + id / 2);
    Tensor& handle = handles_[id];
    if (!handle.defined()) handle = make_proxy_tensor(proxy->numbers ? as_recorded(*proxy) : proxy, 0, {});
    return handle;
  }
  Int integer(Int symbol) override { return symbol.hint(); }
  Float floating(Float symbol) override { return symbol.hint(); }
  Bool boolean(Bool symbol) override { return symbol.hint(); }

 private:
  void claim(const BoundSymbol& bound, SharedVector<BoundSymbol>& out) {
    const Symbol& symbol = *bound.symbol;
    if (bound.implementation || symbol.traits.structural || (symbol.traits.view && symbol.view)) {
      out.push_back(bound);
      return;
    }
    if (const Implementation* implementation = find_implementation(bound)) {
      if (implementation->user && implementation->user->execution_transform && !is_replaced(*implementation))
        return replace(bound, *implementation, out);
      out.push_back(bound);
      out.back().implementation = implementation;
      return;
    }
    if (bound.subsymbols.empty())
      throw UserError(
          text::cat("no executor implements ", symbol.qualified_name(), " for this call; the executors asked were ",
                    text::join(executors_, [](const Executor* e) { return e->name; })),
          bound.source);
    for (const BoundSymbol& subsymbol : forward_lines(bound)) claim_inside(subsymbol, bound, out);
  }

  // Symbols are claimed for the sizes of the recorded call, to be printed; programs are claimed for the sizes that they
  // run with.
  static detail::Ref<TensorProxy> as_recorded(const TensorProxy& symbolic) {
    auto* proxy = new TensorProxy(symbolic);
    Shape shape = symbolic.shape;
    for (Int& size : shape) size = size.hint();
    proxy->shape = shape;
    proxy->numbers = nullptr;
    return detail::Ref<TensorProxy>(proxy);
  }

  void claim_inside(BoundSymbol symbol, const BoundSymbol& parent, SharedVector<BoundSymbol>& out) {
    if (symbol.source.line == 0) symbol.source = parent.source;
    if (symbol.forward.empty()) symbol.forward = parent.forward;
    symbol.tags.add(parent.tags);
    claim(symbol, out);
  }

  // The executor's implementation; the operator's own if no executor in the list has one.
  const Implementation* find_implementation(const BoundSymbol& bound) {
    std::optional<ArgumentPack> pack;
    const std::function<Arguments()> arguments = [&] {
      if (!pack) pack.emplace(bound, *this);
      return pack->arguments();
    };
    const auto claims = [&](const Executor& executor) -> const Implementation* {
      const Implementation* implementation = executor.claim(bound, arguments);
      // Inside its own execution transform a symbol is run, by this executor or by a later one.
      const bool runs = !implementation || !implementation->user || implementation->user->run;
      return runs || !is_replaced(*implementation) ? implementation : nullptr;
    };
    for (const Executor* executor : executors_)
      if (const Implementation* implementation = claims(*executor)) return implementation;
    const UserOperator* user = as_user_operator(*bound.symbol);
    return user ? claims(*user->owner) : nullptr;
  }

  bool is_replaced(const Implementation& implementation) const {
    return std::ranges::find(replaced_, &implementation) != replaced_.end();
  }

  // Replaces the op by the symbols of an execution transform.
  void replace(const BoundSymbol& bound, const Implementation& implementation, SharedVector<BoundSymbol>& out) {
    if (!tracer_) tracer_.emplace(trace_);
    std::vector<BoundSymbol> symbols;
    {
      const InterpreterScope scope(&*tracer_);
      symbols = record_replacement(*tracer_, bound, implementation.user->execution_transform);
    }
    replaced_.push_back(&implementation);
    for (BoundSymbol& symbol : symbols) claim_inside(std::move(symbol), bound, out);
    replaced_.pop_back();
  }

  const Trace& trace_;
  const std::vector<const Executor*>& executors_;
  std::vector<Tensor> handles_;                  // by proxy id
  std::optional<Tracer> tracer_;                 // records execution transforms
  std::vector<const Implementation*> replaced_;  // of the execution transforms being applied, outermost first
};

}  // namespace

Trace transform_for_execution(const Trace& trace, const std::vector<const Executor*>& executors) {
  return Claims(trace, executors).run();
}

}  // namespace fulgurite
