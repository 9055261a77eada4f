#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/symbolic/symbol_values.h"
#include "tracing/argument_pack.h"
#include "tracing/functionalization/storage_view.h"

namespace fulgurite {
class Tracer;
}

namespace fulgurite::detail {

/// A tensor of a call's result that shares memory with an argument, a captured tensor or another result. The program
/// does not return it: it is built after the call, by the views of eager mode, so that writes reach both and their
/// histories.
struct SharedResult {
  enum class Of : uint8_t { argument, captured, result, shared };
  Of of = Of::result;
  int index = 0;  // of the tensor leaf, of the program's result, or of an earlier one of these
  Tensor captured;
  std::vector<RecordedView> views;
};

/// The results of a recording: those that its program returns, and those built from them afterwards.
struct ResultPlan {
  std::vector<int>
      slots;  // for each tensor leaf of the result: a result of the program; -1: undefined; from -2 down: in `shared`
  std::vector<SharedResult> shared;
  std::vector<int> kept;  // results of the trace that the program returns

  static int slot_of_shared(size_t index) { return -2 - static_cast<int>(index); }
  static size_t shared_of_slot(int slot) { return static_cast<size_t>(-2 - slot); }
};

/// Plans the results. `leaves` maps handles to the arguments' tensor leaves. Appends to `values`, the values of the
/// result's tensors, those that the program has to return besides.
ResultPlan plan_results(Tracer&, const std::vector<Tensor>& results,
                        const std::unordered_map<const TensorImpl*, int>& flat, std::vector<Value>& values);

/// Views that are built at every call, from its arguments.
class ReadyViews {
 public:
  /// `numbers` has the values of symbols among the arguments.
  ReadyViews(const std::vector<RecordedView>&, SymbolValues& numbers);
  Tensor of(const Tensor& root) const;

 private:
  struct View {
    const Symbol* symbol;
    std::unique_ptr<const ArgumentPack> pack;
    bool has_gradients;
  };
  std::vector<View> views_;
};

/// A shared result of a cache entry.
struct ReadySharedResult {
  SharedResult::Of of;
  int index;
  Tensor captured;
  ReadyViews views;
};
std::vector<ReadySharedResult> ready(const std::vector<SharedResult>&, SymbolValues&);

}  // namespace fulgurite::detail
