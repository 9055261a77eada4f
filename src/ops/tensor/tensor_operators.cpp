// The C++ operators on tensors, and conversions.
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/tensor/indexed_elements.h"

namespace fulgurite {

namespace {

/// A comparison with a number on the left is the mirrored comparison of the tensor.
template <class Compare, class Mirrored>
Tensor compare(const Operand& a, const Operand& b, Compare direct, Mirrored mirrored) {
  const SourceLocation at = a.at();
  if (a.is_tensor()) return direct(a.tensor(), b, at);
  if (a.kind() == Operand::Kind::none) return direct({}, b, at);  // the error for an undefined tensor
  if (b.is_tensor() || b.kind() == Operand::Kind::none) return mirrored(b.is_tensor() ? b.tensor() : Tensor(), a, at);
  throw UserError("neither side of a comparison is a tensor", at);
}

/// The in-place operator on a temporary. Indexed elements are written back into the indexed tensor.
template <class Update>
Tensor update(Tensor& a, const Operand& b, Update in_place) {
  const std::shared_ptr<const IndexedElements> elements = IndexedElements::take(a);
  in_place(a, b);
  if (elements) elements->write_back(b.at());
  return a;
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) { return add(a, b, 1, a.at()); }
Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b, 1, a.at()); }
Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b, a.at()); }
Tensor operator/(const Operand& a, const Operand& b) { return div(a, b, {}, a.at()); }
Tensor operator%(const Operand& a, const Operand& b) { return remainder(a, b, a.at()); }
Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b, a.at()); }
Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b, a.at()); }
Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b, a.at()); }
Tensor operator~(const Operand& a) {
  if (!a.is_tensor() && a.kind() != Operand::Kind::none)
    throw UserError("~ of a number: it inverts a tensor's bits", a.at());
  return bitwise_not(a.is_tensor() ? a.tensor() : Tensor(), a.at());
}
Tensor operator<<(const Tensor& a, const Operand& b) { return bitwise_left_shift(a, b, b.at()); }
Tensor operator>>(const Tensor& a, const Operand& b) { return bitwise_right_shift(a, b, b.at()); }
Tensor operator-(const Operand& a) {
  if (a.kind() == Operand::Kind::none) return neg({}, a.at());  // the error for an undefined tensor
  return a.is_tensor() ? neg(a.tensor(), a.at()) : sub(0, a, 1, a.at());
}

Tensor operator==(const Operand& a, const Operand& b) { return compare(a, b, eq, eq); }
Tensor operator!=(const Operand& a, const Operand& b) { return compare(a, b, ne, ne); }
Tensor operator<(const Operand& a, const Operand& b) { return compare(a, b, lt, gt); }
Tensor operator<=(const Operand& a, const Operand& b) { return compare(a, b, le, ge); }
Tensor operator>(const Operand& a, const Operand& b) { return compare(a, b, gt, lt); }
Tensor operator>=(const Operand& a, const Operand& b) { return compare(a, b, ge, le); }

namespace {

void add_to(const Tensor& a, const Operand& b) { add_(a, b, 1, b.at()); }
void subtract_from(const Tensor& a, const Operand& b) { sub_(a, b, 1, b.at()); }
void multiply_into(const Tensor& a, const Operand& b) { mul_(a, b, b.at()); }
void divide_into(const Tensor& a, const Operand& b) { div_(a, b, {}, b.at()); }
void take_remainder(const Tensor& a, const Operand& b) { remainder_(a, b, b.at()); }
void and_bits(const Tensor& a, const Operand& b) { bitwise_and_(a, b, b.at()); }
void or_bits(const Tensor& a, const Operand& b) { bitwise_or_(a, b, b.at()); }
void xor_bits(const Tensor& a, const Operand& b) { bitwise_xor_(a, b, b.at()); }

}  // namespace

Tensor& operator+=(Tensor& a, const Operand& b) {
  add_to(a, b);
  return a;
}
Tensor& operator-=(Tensor& a, const Operand& b) {
  subtract_from(a, b);
  return a;
}
Tensor& operator*=(Tensor& a, const Operand& b) {
  multiply_into(a, b);
  return a;
}
Tensor& operator/=(Tensor& a, const Operand& b) {
  divide_into(a, b);
  return a;
}
Tensor& operator%=(Tensor& a, const Operand& b) {
  take_remainder(a, b);
  return a;
}
Tensor& operator&=(Tensor& a, const Operand& b) {
  and_bits(a, b);
  return a;
}
Tensor& operator|=(Tensor& a, const Operand& b) {
  or_bits(a, b);
  return a;
}
Tensor& operator^=(Tensor& a, const Operand& b) {
  xor_bits(a, b);
  return a;
}
Tensor& operator<<=(Tensor& a, const Operand& b) {
  bitwise_left_shift_(a, b, b.at());
  return a;
}
Tensor& operator>>=(Tensor& a, const Operand& b) {
  bitwise_right_shift_(a, b, b.at());
  return a;
}
Tensor operator+=(Tensor&& a, const Operand& b) { return update(a, b, add_to); }
Tensor operator-=(Tensor&& a, const Operand& b) { return update(a, b, subtract_from); }
Tensor operator*=(Tensor&& a, const Operand& b) { return update(a, b, multiply_into); }
Tensor operator/=(Tensor&& a, const Operand& b) { return update(a, b, divide_into); }
Tensor operator%=(Tensor&& a, const Operand& b) { return update(a, b, take_remainder); }
Tensor operator&=(Tensor&& a, const Operand& b) { return update(a, b, and_bits); }
Tensor operator|=(Tensor&& a, const Operand& b) { return update(a, b, or_bits); }
Tensor operator^=(Tensor&& a, const Operand& b) { return update(a, b, xor_bits); }

namespace {

void check_defined(const Tensor& tensor, SourceLocation at) {
  if (!tensor.defined())
    throw UserError("to() of an undefined tensor: default-constructed, moved from, or a grad() before backward()", at);
}

}  // namespace

Tensor Tensor::to(Dtype dtype, SourceLocation at) const {
  check_defined(*this, at);
  return this->dtype() == dtype ? *this : prims::convert_element_type(*this, dtype, at);
}

Tensor Tensor::to(Device device, SourceLocation at) const {
  check_defined(*this, at);
  if (device == this->device()) return *this;
  throw UserError(text::cat("to: this build has only the device cpu, not ", device.name()), at);
}

Tensor Tensor::to(Device device, Dtype dtype, SourceLocation at) const { return to(device, at).to(dtype, at); }

Tensor Tensor::to(const Tensor& other, SourceLocation at) const {
  check_defined(other, at);
  return to(other.device(), other.dtype(), at);
}

Tensor Tensor::to(const TensorOptions& options, SourceLocation at) const {
  const Tensor moved = to(options.device, at);
  return options.dtype ? moved.to(*options.dtype, at) : moved;
}

Tensor Tensor::detach(SourceLocation at) const { return fulgurite::detach(*this, at); }

}  // namespace fulgurite
