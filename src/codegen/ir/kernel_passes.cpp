#include "codegen/ir/kernel_passes.h"

#include <algorithm>

namespace fulgurite::codegen {

using Kind = KernelValue::Kind;

Kernel drop_rounding_before_stores(Kernel kernel) {
  std::vector<char> is_used(kernel.values.size(), false);
  for (const KernelValue& value : kernel.values)
    for (const int operand : value.operands) is_used[operand] = true;
  for (size_t i = 0; i < kernel.values.size(); ++i) {
    KernelValue& value = kernel.values[i];
    if (is_used[i] || !is_rounding(value.expression)) continue;
    value.expression = value.expression.inner();
    value.is_rounded = false;
  }
  return kernel;
}

namespace {

std::vector<char> used_values(const Kernel& kernel) {
  std::vector<char> is_used(kernel.values.size(), false);
  for (size_t i = kernel.values.size(); i-- > 0;) {
    is_used[i] = is_used[i] || kernel.values[i].output >= 0;
    if (is_used[i])
      for (const int operand : kernel.values[i].operands) is_used[operand] = true;
  }
  return is_used;
}

}  // namespace

Kernel remove_dead_values(Kernel kernel) {
  const std::vector<char> is_used = used_values(kernel);
  std::vector<int> new_index(kernel.values.size(), -1);
  std::vector<KernelValue> kept;
  for (size_t i = 0; i < kernel.values.size(); ++i) {
    if (!is_used[i]) continue;
    for (int& operand : kernel.values[i].operands) operand = new_index[static_cast<size_t>(operand)];
    new_index[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(kernel.values[i]));
  }
  kernel.values = std::move(kept);
  return kernel;
}

Kernel choose_bf16_roundings(Kernel kernel) {
  std::vector<char> is_inside;  // by value: it is computed from bf16 numbers alone, or rounded to one
  for (KernelValue& value : kernel.values) {
    const bool reads_inside =
        std::ranges::all_of(value.operands, [&](int operand) { return is_inside[static_cast<size_t>(operand)] != 0; });
    const bool is_read = value.kind == Kind::input || value.kind == Kind::taken;
    is_inside.push_back(value.lanes != Lanes::floats ? true
                        : is_read                    ? value.dtype == Dtype::bf16
                                                     : reads_inside || value.expression.is(ScalarOp::round_bf16));
    if (reads_inside) value.expression.replace(ScalarOp::round_bf16, ScalarOp::round_inside_bf16);
    if (value.dtype != Dtype::bf16) continue;
    value.store = value.is_rounded ? StoreForm::exact : is_inside.back() ? StoreForm::inside_bf16 : StoreForm::rounded;
  }
  return kernel;
}

}  // namespace fulgurite::codegen
