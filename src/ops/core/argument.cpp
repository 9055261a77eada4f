#include "ops/core/argument.h"

#include <fulgurite/error.h>

#include "ops/core/rules.h"

namespace fulgurite {

namespace detail {

const Tensor& no_tensor() {
  static const Tensor none;
  return none;
}

const Operand& no_operand() {
  static const Operand none;
  return none;
}

const Operand& zero_operand() {
  static const Operand zero(0, SourceLocation{});
  return zero;
}

const Operand& one_operand() {
  static const Operand one(1, SourceLocation{});
  return one;
}

}  // namespace detail

const Tensor& Argument::tensor_or_none() const { return is_tensor() ? *tensor_ : detail::no_tensor(); }

void Argument::refuse(const char* wanted) const {
  const char* const given = is_none()       ? "none or an undefined tensor"
                            : is_tensor()   ? "a tensor"
                            : is_integer()  ? "an integer"
                            : is_floating() ? "a float"
                            : is_boolean()  ? "a bool"
                                            : "something else";
  throw RuleError{text::cat("an argument must be ", wanted, ", not ", given)};
}

Int Argument::integer() const {
  if (kind_ == Kind::integer) return integer_;
  if (kind_ != Kind::boolean) [[unlikely]]
    refuse("an integer");
  return static_cast<bool>(boolean_) ? 1 : 0;
}

Float Argument::floating() const {
  if (kind_ == Kind::floating) return floating_;
  if (kind_ == Kind::integer) return integer_;
  if (kind_ != Kind::boolean) [[unlikely]]
    refuse("a number");
  return static_cast<bool>(boolean_) ? 1.0 : 0.0;
}

std::span<const Int> Argument::integers() const {
  if (kind_ == Kind::integers) return {integers_.data, integers_.size};
  if (kind_ == Kind::integer) return {&integer_, 1};
  return {};
}

SmallVector<Float, 3> Argument::floatings() const {
  SmallVector<Float, 3> out;
  if (is_number()) out.push_back(floating());
  if (kind_ == Kind::floatings)
    for (size_t i = 0; i < floatings_.size; ++i) out.push_back(floatings_.data[i]);
  if (kind_ == Kind::integers)
    for (const Int n : integers()) out.push_back(n);
  if (kind_ == Kind::list)
    for (const Argument& item : list()) out.push_back(item.floating());
  return out;
}

Operand Argument::operand(SourceLocation at) const {
  switch (kind_) {
    case Kind::none: return {};
    case Kind::tensor: return {*tensor_, at};
    case Kind::integer: return {integer_, at};
    case Kind::floating: return {floating_, at};
    case Kind::boolean: return {boolean_, at};
    default: throw InternalError("an argument that is not a tensor and no number is used as an operand");
  }
}

}  // namespace fulgurite
