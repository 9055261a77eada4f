#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "ops/core/rules.h"

namespace fulgurite {

/// Computes a call's results into memory that the caller provides: `results` have the sizes and dtypes of the shape rule and are
/// contiguous. Arguments have any strides. Must not allocate on its hot path; takes its threads from runtime/threads/parallel_for.h.
using Kernel = void (*)(Arguments, std::span<const Tensor> results);

/// A function on a call's arguments that records, or computes, the results.
using OperatorRule = std::function<void(Arguments, SourceLocation, Results&)>;

/// What a user's executor has in the place of a kernel. Both, where there are both: the transform is used in traces.
struct UserImplementation {
  std::function<bool(Arguments)> accepts;
  /// Makes its results itself: contiguous tensors that share memory with no argument.
  OperatorRule run;
  /// Records other operators in the symbol's place.
  OperatorRule execution_transform;
};

/// What runs a fusion.
class FusedKernel {
 public:
  virtual ~FusedKernel() = default;
  virtual void run(Arguments, std::span<const Tensor> results) const = 0;
  /// The kernel's text.
  virtual std::string_view text() const = 0;
  /// Whether a result may lie in the memory of an argument, both contiguous and of one size: then no element of the argument is read after the
  /// result's element at its place is written.
  virtual bool may_overwrite(size_t /*result*/, size_t /*argument*/) const { return false; }
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
  bool takes_result_strides = false;  // results may have any strides, as long as their last dimension lies side by side
  const FusedKernel* fusion = nullptr;  // in the kernel's place

  bool accepts(Arguments arguments) const {
    if (user) return user->accepts(arguments);
    return !checker || checker(arguments);
  }
  void run(Arguments arguments, std::span<const Tensor> results) const {
    if (fusion) [[unlikely]] return fusion->run(arguments, results);
    kernel(arguments, results);
  }
};

}  // namespace fulgurite
