// The C++ operators on tensors, and conversions.
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/dispatch.h"

namespace fulgurite {

namespace {

/// A comparison whose left side is a number is the mirrored one of the tensor.
template <class Compare, class Mirrored>
Tensor compare(const Operand& a, const Operand& b, Compare direct, Mirrored mirrored) {
  const SourceLocation at = a.at();
  if (a.is_tensor()) return direct(a.tensor(), b, at);
  if (b.is_tensor()) return mirrored(b.tensor(), a, at);
  throw UserError("neither side of a comparison is a tensor", at);
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) { return add(a, b, 1, a.at()); }
Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b, 1, a.at()); }
Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b, a.at()); }
Tensor operator/(const Operand& a, const Operand& b) { return div(a, b, {}, a.at()); }
Tensor operator-(const Operand& a) { return a.is_tensor() ? neg(a.tensor(), a.at()) : sub(0, a, 1, a.at()); }

Tensor operator==(const Operand& a, const Operand& b) { return compare(a, b, eq, eq); }
Tensor operator!=(const Operand& a, const Operand& b) { return compare(a, b, ne, ne); }
Tensor operator<(const Operand& a, const Operand& b) { return compare(a, b, lt, gt); }
Tensor operator<=(const Operand& a, const Operand& b) { return compare(a, b, le, ge); }
Tensor operator>(const Operand& a, const Operand& b) { return compare(a, b, gt, lt); }
Tensor operator>=(const Operand& a, const Operand& b) { return compare(a, b, ge, le); }

Tensor& operator+=(Tensor& a, const Operand& b) {
  add_(a, b, 1, b.at());
  return a;
}
Tensor& operator-=(Tensor& a, const Operand& b) {
  sub_(a, b, 1, b.at());
  return a;
}
Tensor& operator*=(Tensor& a, const Operand& b) {
  mul_(a, b, b.at());
  return a;
}
Tensor& operator/=(Tensor& a, const Operand& b) {
  div_(a, b, {}, b.at());
  return a;
}
Tensor operator+=(Tensor&& a, const Operand& b) { return add_(a, b, 1, b.at()); }
Tensor operator-=(Tensor&& a, const Operand& b) { return sub_(a, b, 1, b.at()); }
Tensor operator*=(Tensor&& a, const Operand& b) { return mul_(a, b, b.at()); }
Tensor operator/=(Tensor&& a, const Operand& b) { return div_(a, b, {}, b.at()); }

Tensor Tensor::to(Dtype dtype, SourceLocation at) const {
  return this->dtype() == dtype ? *this : prims::convert_element_type(*this, dtype, at);
}

Tensor Tensor::to(Device device, SourceLocation at) const {
  if (device == this->device()) return *this;
  throw UserError(text::cat("to: this build has only the device cpu, not ", device.name()), at);
}

Tensor Tensor::detach(SourceLocation at) const { return fulgurite::detach(*this, at); }

}  // namespace fulgurite
