#pragma once
#include <fulgurite/detail/requirements.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fulgurite/extend.h>
#include <fulgurite/trace.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// Lines of a trace that may run as one: nothing outside has to run between them.
struct Region {
  std::string name;                        // "fusion0": unique in a function
  std::vector<BoundSymbol> bound_symbols;  // in order
  std::vector<Value> inputs, outputs;      // tensors: what the lines read and do not make; what others read of what they make
  /// The region as a program of its own, to be printed, transformed or evaluated.
  Trace trace;
};

/// How a region is run.
struct Fusion {
  /// Gives the region's outputs, in order, from its inputs: tensors of any strides, valid during the call and not to be written into.
  /// Several threads may call it at once. Without one the region is left to the other executors.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> run = {};
  /// What runs, as text for people: FULGURITE_LOGS=fusions prints it.
  std::string source = {};
};

namespace detail {
struct SupportedSymbol {
  const Symbol* symbol;
  OperatorFunction checker;
};
void add_supported(std::vector<SupportedSymbol>&, const Symbol&, OperatorFunction checker, SourceLocation);
}  // namespace detail

/// An executor that takes regions of traces and runs each as one. Register it once it has its function and its symbols; copies are
/// executors of their own until then.
class FusionExecutor {
 public:
  explicit FusionExecutor(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  /// Calls of this operator may be in regions: those for which `checker`, a function of the operator's own C++ types that gives a bool,
  /// holds; without one all. Composite operators are taken whole. A view is in a region only with others.
  void register_supported(const Symbol& symbol, detail::OperatorFunction checker = {}, SourceLocation at = SourceLocation::here()) {
    detail::add_supported(supported_, symbol, std::move(checker), at);
  }

  /// Called for each region of a function that is compiled, on whichever thread compiles it.
  std::function<Fusion(const Region&)> fuse = {};

  const std::vector<detail::SupportedSymbol>& supported() const { return supported_; }

 private:
  std::string name_;
  std::vector<detail::SupportedSymbol> supported_;
};

/// Makes an executor known by its name, for JitOptions::executors and the default list.
void register_executor(const FusionExecutor&, SourceLocation at = SourceLocation::here());

/// Runs a trace's lines one by one on tensors for its inputs, eagerly; inside a function that is traced, records them there.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
