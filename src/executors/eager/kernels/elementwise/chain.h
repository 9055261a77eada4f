#pragma once
#include <memory>
#include <vector>

#include "executors/eager/kernels/elementwise/pointwise.h"
#include "tensor/pending.h"

namespace fulgurite::FULGURITE_KERNELS {

/// Deferred pointwise calls. When a value is needed, the calls that it depends on are computed together, block by
/// block: intermediate values stay in the cache, and most of them never get memory. The row functions and the dtypes of
/// intermediate values are those of the single calls, so the bits are equal too.
class Chain final : public PendingValues {
 public:
  void add(const Pointwise&, std::initializer_list<const Argument*> operands, const Tensor& result,
           const RowParameters&);
  void finish(const Storage&) override;
  void finish_all() override;

 private:
  /// A number, a tensor with memory, or the result of an earlier step.
  struct Operand {
    int step = -1;
    Tensor tensor;
    bool is_number = false;
    alignas(8) char number[8];
  };
  struct Step {
    Pointwise operation;
    RowParameters parameters;
    Operand operands[max_operands];
    int count = 0;
    Tensor result;
    bool is_done() const { return result.impl()->storage->data != nullptr; }
    /// Returns true if anything but the chain references it.
    bool is_held() const {
      const TensorImpl& impl = *result.impl();
      return impl.owners.load(std::memory_order_relaxed) > 1 ||
             impl.storage->owners.load(std::memory_order_relaxed) > 1;
    }
  };

  int find(const Storage&) const;
  Operand operand_of(const Argument&, Dtype read, const Tensor& result);
  void compute(int step);

  std::vector<Step> steps_;
  friend class ChainProgram;
};

}  // namespace fulgurite::FULGURITE_KERNELS
