#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/rules.h"
#include "transforms/joint_rule.h"

namespace fulgurite {

/// Computes a call's results into memory that the caller provides: `results` have the sizes and dtypes of the shape rule and are
/// contiguous. Arguments have any strides. Must not allocate on its hot path; takes its threads from runtime/parallel_for.h.
using Kernel = void (*)(Arguments, std::span<const Tensor> results);

/// What a user's executor has in the place of a kernel. Both, where there are both: the transform is used in traces.
struct UserImplementation {
  std::function<bool(Arguments)> accepts;
  /// Makes its results itself: contiguous tensors that share memory with no argument.
  OperatorRule run;
  /// Records other operators in the symbol's place.
  OperatorRule execution_transform;
};

/// How an executor runs one symbol.
struct Implementation {
  std::string_view executor;  // "eager", "onednn"
  const Symbol* symbol = nullptr;
  Kernel kernel = nullptr;
  bool (*checker)(Arguments) = nullptr;     // null: claims every call
  /// Bytes of scratch memory the kernel wants beside its results, or null for none.
  int64_t (*scratch)(Arguments) = nullptr;
  const UserImplementation* user = nullptr;
  bool is_pointwise = false;  // the kernel is one pointwise call, which may be gathered with others

  bool accepts(Arguments arguments) const {
    if (user) return user->accepts(arguments);
    return !checker || checker(arguments);
  }
};

/// A named list of implementations.
struct Executor {
  std::string name;
  /// null when this executor does not implement the symbol
  std::function<const Implementation*(const Symbol&)> find;
  /// Its gradient rule for the symbol, or null; empty where it has none for any.
  std::function<std::shared_ptr<const JointRule>(const Symbol&)> find_rule = {};
};

/// eager: the kernels of eager mode, for every primitive and for the composites that deserve one. Never refuses a primitive.
const Executor& eager_executor();
/// onednn: matrix products and convolutions.
const Executor& onednn_executor();

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
