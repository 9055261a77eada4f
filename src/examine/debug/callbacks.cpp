#include <map>
#include <mutex>
#include <tuple>

#include <fulgurite/examine.h>

#include "jit/jit_state.h"

namespace fulgurite::examine {

namespace {

class CallbackObserver final : public ExecutionObserver {
 public:
  explicit CallbackObserver(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}
  void before(const Trace& trace, const BoundSymbol& bound, std::span<const Tensor> arguments) const override {
    if (callbacks_.before) keep(trace, bound, {callbacks_.before(bound, {arguments.begin(), arguments.end()}), {}});
  }
  void after(const Trace& trace, const BoundSymbol& bound, std::span<const Tensor>,
             std::span<const Tensor> results) const override {
    std::string text;
    if (callbacks_.after) text = callbacks_.after(bound, {results.begin(), results.end()});
    const std::lock_guard lock(mutex_);
    if (callbacks_.before || !text.empty()) texts_[key_of(trace)][place_of(trace, bound)].after = std::move(text);
  }

  std::vector<std::string> notes(const Trace& trace) const override {
    const std::lock_guard lock(mutex_);
    const auto found = texts_.find(key_of(trace));
    if (found == texts_.end()) return {};
    std::vector<std::string> out(trace.bound_symbols.size());
    for (const auto& [position, texts] : found->second)
      out[position] = texts.before + (texts.before.empty() || texts.after.empty() ? "" : "\n") + texts.after;
    return out;
  }

 private:
  struct Texts {
    std::string before, after;
  };
  using Key = std::tuple<std::string, std::string, size_t, int>;
  static Key key_of(const Trace& trace) {
    return {trace.name, trace.provenance, trace.bound_symbols.size(), trace.next_id};
  }
  static size_t place_of(const Trace& trace, const BoundSymbol& bound) {
    return static_cast<size_t>(&bound - trace.bound_symbols.read().data());
  }

  void keep(const Trace& trace, const BoundSymbol& bound, Texts texts) const {
    const std::lock_guard lock(mutex_);
    texts_[key_of(trace)][place_of(trace, bound)] = std::move(texts);
  }

  const Callbacks callbacks_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::map<size_t, Texts>> texts_;  // by trace and op
};

}  // namespace

std::shared_ptr<detail::JitState> state_with_callbacks(const detail::JitState& state, Callbacks callbacks,
                                                       SourceLocation at) {
  return std::make_shared<detail::JitState>(state.shared_callable(), state.options(), state.names_executors(),
                                            state.transforms(), state.open_scope(), at,
                                            std::make_shared<CallbackObserver>(std::move(callbacks)));
}

}  // namespace fulgurite::examine
