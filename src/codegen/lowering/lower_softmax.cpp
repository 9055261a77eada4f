#include "codegen/lowering/group_lowering.h"
#include "support/text/text.h"

namespace fulgurite::codegen {

/// A backward computes softmax from log_softmax, whose exponentials were summed for the logarithm: for d = x - amax(x),
/// exp(d - log(sum(exp(d)))) becomes exp(d) * (1 / sum(exp(d))). No exponential overflows, and the sum is at least 1. A
/// 16-bit logarithm is matched through its rounding, unless it is a result of the kernel.
std::optional<KernelValue> GroupLowering::share_of_row(const KernelValue& exponential) {
  using Kind = KernelValue::Kind;
  const auto& values = kernel_.values;
  const auto is = [](const KernelValue& value, std::string_view expression) {
    return value.kind == Kind::computed && value.expression == expression;
  };
  if (exponential.expression != "exp({0})") return std::nullopt;
  int position = exponential.operands[0];
  const KernelValue& given = values[position];
  if (is_half(given.dtype) && is(given, rounded_text("{0}", given.dtype)) && !results_.contains(position))
    position = given.operands[0];
  const KernelValue& logarithm = values[position];
  if (!is(logarithm, "{0} - {1}") || !is(values[logarithm.operands[1]], "log({0})")) return std::nullopt;
  const int difference = logarithm.operands[0], sum = values[logarithm.operands[1]].operands[0];
  if (values[sum].kind != Kind::sum || !is(values[values[sum].operands[0]], "exp({0})")) return std::nullopt;
  const int exponentials = values[sum].operands[0];
  if (values[exponentials].operands[0] != difference || !is(values[difference], "{0} - {1}")) return std::nullopt;
  const KernelValue& largest = values[values[difference].operands[1]];
  if (largest.kind != Kind::largest || largest.operands[0] != values[difference].operands[0]) return std::nullopt;

  const std::string_view type = values[sum].lanes == Lanes::doubles ? "Doubles" : "Floats";
  const int inverse =
      compute(text::cat(type, "(1) / {0}"), {sum}, values[sum].dtype, values[sum].name + "_inverse", true);
  KernelValue share = exponential;
  share.expression = "{0} * {1}";
  share.operands = {exponentials, inverse};
  share.is_costly = false;
  return share;
}

}  // namespace fulgurite::codegen
