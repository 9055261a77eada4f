#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "implementation/implementation.h"
#include "transforms/grad/joint_rule.h"

namespace fulgurite {

/// Gives fusions names that are unique among all traces of a function.
class FusionNames {
 public:
  std::string next() { return "fusion" + std::to_string(count_.fetch_add(1)); }

 private:
  std::atomic<int> count_{0};
};

/// Options for fusing a trace.
struct FusingOptions {
  bool everything = false;              // also fusions that are hardly profitable
  bool allow_excess_precision = false;  // 16-bit values that are used only inside a kernel need not be rounded
};

/// The functions of a fusing executor.
struct Fusing {
  /// Marks the ops assigned to the executor, until they are in a fusion or released.
  Implementation candidate;
  std::function<bool(const BoundSymbol&)> supports;
  /// Replaces candidates by fusions that are ready to run; the others have no implementation afterwards.
  std::function<Trace(const Trace&, FusionNames&, FusingOptions)> fuse;
  /// Returns true if some part of a trace may be worth a compiler run: a function of the trace alone. Null: any
  /// supported op is.
  bool (*may_be_profitable)(const Trace&) = nullptr;
};

/// A named list of implementations.
struct Executor {
  std::string name;
  /// The implementation of a symbol, or null; empty for a fusing executor.
  std::function<const Implementation*(const Symbol&)> find = {};
  /// Its gradient rule for the symbol, or null; empty if it has none for any.
  std::function<std::shared_ptr<const JointRule>(const Symbol&)> find_rule = {};
  /// Set for a fusing executor.
  std::shared_ptr<const Fusing> fusing = {};

  /// The implementation that claims an op, or null: the candidate of a fusing executor, or the symbol's if it accepts
  /// the op's arguments, which are made when they are needed.
  const Implementation* claim(const BoundSymbol&, const std::function<Arguments()>& arguments) const;
};

/// An executor that fuses, under a name.
Executor fusing_executor(std::string name, std::shared_ptr<Fusing>);

/// eager: the kernels of eager mode, for every primitive and for composites worth a kernel. Accepts every primitive.
const Executor& eager_executor();
/// onednn: matmuls and convolutions.
const Executor& onednn_executor();
/// fuser: generated kernels for elementwise and row-wise ops.
const Executor& fuser_executor();

const Implementation* find_eager_implementation(const Symbol&);

class PendingValues;
/// Defers the eager executor's pointwise calls to run them together.
std::unique_ptr<PendingValues> make_pointwise_chain();

/// Adds an executor before eager; throws UserError if its name is taken. It is used only where it is named.
/// Thread-safe, as are the functions of extend.h that list executors and set the defaults.
void add_executor(std::shared_ptr<const Executor>, SourceLocation);
/// Counts the changes of the default list and of the executors' registrations: programs compiled with another count may
/// be stale.
uint64_t executors_version();
void count_executor_change();
/// Throws UserError naming the registered executors if a name is unknown. Empty: the default list. "eager" is always
/// last.
std::vector<const Executor*> resolve_executors(const std::vector<std::string>& names);

}  // namespace fulgurite
