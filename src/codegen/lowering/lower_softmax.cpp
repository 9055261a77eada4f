#include "codegen/lowering/group_lowering.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

/// A backward computes softmax from log_softmax, whose exponentials were summed for the logarithm: for d = x - amax(x),
/// exp(d - log(sum(exp(d)))) becomes exp(d) * (1 / sum(exp(d))). No exponential overflows, and the sum is at least 1. A
/// 16-bit logarithm is matched through its rounding, unless it is a result of the kernel.
std::optional<KernelValue> GroupLowering::share_of_row(const KernelValue& exponential) {
  using Kind = KernelValue::Kind;
  const auto& values = kernel_.values;
  const auto is = [](const KernelValue& value, ScalarOp op) {
    return value.kind == Kind::computed && value.expression.is_plain(op);
  };
  if (!exponential.expression.is_plain(ScalarOp::exp)) return std::nullopt;
  int position = exponential.operands[0];
  const KernelValue& given = values[position];
  if (is_half(given.dtype) && is(given, given.dtype == Dtype::bf16 ? ScalarOp::round_bf16 : ScalarOp::round_f16) &&
      !results_.contains(position))
    position = given.operands[0];
  const KernelValue& logarithm = values[position];
  if (!is(logarithm, ScalarOp::subtract) || !is(values[logarithm.operands[1]], ScalarOp::log)) return std::nullopt;
  const int difference = logarithm.operands[0], sum = values[logarithm.operands[1]].operands[0];
  if (values[sum].kind != Kind::sum || !is(values[values[sum].operands[0]], ScalarOp::exp)) return std::nullopt;
  const int exponentials = values[sum].operands[0];
  if (values[exponentials].operands[0] != difference || !is(values[difference], ScalarOp::subtract))
    return std::nullopt;
  const KernelValue& largest = values[values[difference].operands[1]];
  if (largest.kind != Kind::largest || largest.operands[0] != values[difference].operands[0]) return std::nullopt;

  const Lanes lanes = values[sum].lanes;
  const ScalarExpr reciprocal = whole(1, lanes) / operand(0, lanes);
  const int inverse = compute(reciprocal, {sum}, values[sum].dtype, values[sum].name + "_inverse", true);
  KernelValue share = exponential;
  share.expression = operand(0, lanes) * operand(1, lanes);
  share.operands = {exponentials, inverse};
  share.is_costly = false;
  return share;
}

}  // namespace fulgurite::codegen
