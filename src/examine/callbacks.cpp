#include <fulgurite/examine.h>

#include "jit/jit_state.h"

namespace fulgurite::examine {

namespace {

class Told final : public LineWatch {
 public:
  explicit Told(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}
  void before(const Trace&, const BoundSymbol& bound, std::span<const Tensor> arguments) const override {
    if (callbacks_.before) callbacks_.before(bound, {arguments.begin(), arguments.end()});
  }
  void after(const Trace&, const BoundSymbol& bound, std::span<const Tensor>, std::span<const Tensor> results) const override {
    if (callbacks_.after) callbacks_.after(bound, {results.begin(), results.end()});
  }

 private:
  const Callbacks callbacks_;
};

}  // namespace

std::shared_ptr<detail::JitState> state_with_callbacks(const detail::JitState& state, Callbacks callbacks, SourceLocation at) {
  return std::make_shared<detail::JitState>(state.shared_callable(), state.options(), state.names_executors(), state.transforms(),
                                            state.open_scope(), at, std::make_shared<Told>(std::move(callbacks)));
}

}  // namespace fulgurite::examine
