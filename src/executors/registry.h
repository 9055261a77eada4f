#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "implementation/implementation.h"
#include "transforms/grad/joint_rule.h"

namespace fulgurite {

/// Gives fusions names that no other fusion of a function has, in whichever of its traces.
class FusionNames {
 public:
  std::string next() { return "fusion" + std::to_string(count_.fetch_add(1)); }

 private:
  std::atomic<int> count_{0};
};

/// How a trace is fused.
struct FusingOptions {
  bool everything = false;              // also what hardly pays
  bool allow_excess_precision = false;  // 16-bit values that are used only inside a kernel need not be rounded
};

/// What makes an executor a fusing one.
struct Fusing {
  /// Stands at the symbols that were given to it, until they are in a fusion or given back.
  Implementation candidate;
  std::function<bool(const BoundSymbol&)> supports;
  /// Puts candidates into fusions that are ready to run; the others are nobody's again.
  std::function<Trace(const Trace&, FusionNames&, FusingOptions)> fuse;
  /// Whether anything in a trace may be worth a run of the compiler: a function of the trace alone. Null: whatever is supported.
  bool (*may_pay)(const Trace&) = nullptr;
};

/// A named list of implementations.
struct Executor {
  std::string name;
  /// null when this executor does not implement the symbol
  std::function<const Implementation*(const Symbol&)> find;
  /// Its gradient rule for the symbol, or null; empty where it has none for any.
  std::function<std::shared_ptr<const JointRule>(const Symbol&)> find_rule = {};
  /// Set for one that fuses; `find` gives nothing then.
  std::shared_ptr<const Fusing> fusing = {};
};

/// eager: the kernels of eager mode, for every primitive and for the composites that deserve one. Never refuses a primitive.
const Executor& eager_executor();
/// onednn: matrix products and convolutions.
const Executor& onednn_executor();
/// fuser: generated kernels for whatever is computed element by element or row by row.
const Executor& fuser_executor();

const Implementation* find_eager_implementation(const Symbol&);

class PendingValues;
/// What remembers the eager executor's pointwise calls and runs them together.
std::unique_ptr<PendingValues> make_pointwise_chain();

/// Adds an executor before eager; throws UserError when its name is taken. It is asked only where it is named. Thread-safe, as are the
/// functions of extend.h that list executors and set the defaults.
void add_executor(std::shared_ptr<const Executor>, SourceLocation);
/// Counts the changes of the default list and of what executors have registered: what was compiled with another count may be stale.
uint64_t executors_version();
void count_executor_change();
/// Throws UserError naming the registered ones when a name is unknown. Empty: the default list. "eager" is always last.
std::vector<const Executor*> resolve_executors(const std::vector<std::string>& names);

}  // namespace fulgurite
