#pragma once
#include <atomic>
#include <span>

#include <fulgurite/symbol.h>

#include "executors/eager/kernels/elementwise/pointwise.h"

namespace fulgurite::FULGURITE_KERNELS {

/// The kernel that the formula in an operator's record describes. A formula is prepared once for each dtype that its
/// operands are read in: one row function for each operation, run on blocks that stay in the first-level cache.
class FormulaKernel {
 public:
  constexpr explicit FormulaKernel(const Symbol& symbol) : symbol_(symbol) {}
  /// Returns false, and computes nothing, for a call without a formula.
  bool run(Arguments, const Tensor& result) const;

 private:
  struct Choice;
  const Choice& prepared(const ScalarFormula&) const;

  const Symbol& symbol_;
  mutable std::atomic<const Choice*> choices_ = nullptr;  // the formulas that calls had
};

template <const Symbol& symbol>
inline constinit FormulaKernel formula_kernel{symbol};

/// Returns false for a call without a formula.
template <const Symbol& symbol>
bool run_formula(Arguments arguments, std::span<const Tensor> results) {
  return formula_kernel<symbol>.run(arguments, results[0]);
}

}  // namespace fulgurite::FULGURITE_KERNELS
