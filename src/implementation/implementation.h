#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ops/core/rules.h"

namespace fulgurite {

/// Computes a call's results into memory that the caller provides: `results` are contiguous and have the sizes and
/// dtypes of the shape rule. Arguments may have any strides. Must not allocate on its hot path; takes its threads from
/// runtime/threads/parallel_for.h.
using Kernel = void (*)(Arguments, std::span<const Tensor> results);

/// A function on a call's arguments that records or computes the results.
using OperatorRule = std::function<void(Arguments, SourceLocation, Results&)>;

/// The functions of a user-defined executor, in place of a kernel. If both are set, traces use the transform.
struct UserImplementation {
  std::function<bool(Arguments)> accepts;
  /// Creates its results: contiguous tensors that alias no argument.
  OperatorRule run;
  /// Records other operators instead of the symbol.
  OperatorRule execution_transform;
};

class FusedKernelVisitor;

/// The kernel of a fusion.
class FusedKernel {
 public:
  virtual ~FusedKernel() = default;
  virtual void run(Arguments, std::span<const Tensor> results) const = 0;
  /// The kernel's source text.
  virtual std::string_view text() const = 0;
  /// Returns true if a result may be stored in the memory of an argument, both contiguous and of one size: then no
  /// element of the argument is read after the result's element at its index is written.
  virtual bool may_overwrite(size_t /*result*/, size_t /*argument*/) const { return false; }
  /// For GEMMs: the depth of one step of the packed right operand, which every row block reads again; 0: nothing is
  /// packed.
  virtual int64_t packed_step_depth() const { return 0; }
  /// The kernel as scalar code named `name`, and as IR with its schedule; empty if it has no such form.
  virtual std::string scalar_text(std::string_view /*name*/) const { return {}; }
  virtual std::string ir_text() const { return {}; }
  /// Calls the visitor's function for this kind of kernel, if it has one; see executors/fused_kernel_visitor.h.
  virtual void accept(FusedKernelVisitor&) const {}
};

/// An executor's implementation of one symbol.
struct Implementation {
  std::string_view executor;  // "eager", "onednn"
  const Symbol* symbol = nullptr;
  Kernel kernel = nullptr;
  bool (*checker)(Arguments) = nullptr;  // null: claims every call
  /// Bytes of scratch memory that the kernel needs besides its results, or null for none.
  int64_t (*scratch)(Arguments) = nullptr;
  const UserImplementation* user = nullptr;
  bool is_pointwise = false;            // the kernel is one pointwise call, which may be batched with others
  bool takes_result_strides = false;    // results may have any strides if their last dimension is contiguous
  bool skips_unread_results = false;    // results after the first that nothing reads may be undefined tensors
  const FusedKernel* fusion = nullptr;  // instead of the kernel
  /// For kernels: the rule of may_overwrite(), by symbol; null: no result may overwrite an operand.
  bool (*overwrites)(const Symbol&, size_t result, size_t operand) = nullptr;

  bool accepts(Arguments arguments) const {
    if (user) return user->accepts(arguments);
    return !checker || checker(arguments);
  }
  /// Returns true if a result may be stored in the memory of an operand, both contiguous and of one size.
  bool may_overwrite(size_t result, size_t operand) const {
    return fusion ? fusion->may_overwrite(result, operand) : overwrites && overwrites(*symbol, result, operand);
  }
  void run(Arguments arguments, std::span<const Tensor> results) const {
    if (fusion) [[unlikely]]
      return fusion->run(arguments, results);
    kernel(arguments, results);
  }
};

}  // namespace fulgurite
