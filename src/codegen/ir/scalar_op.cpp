#include "codegen/ir/scalar_op.h"

namespace fulgurite::codegen {

namespace {

using enum ScalarOp;
using T = TypeClass;

constexpr ScalarOpRecord records[] = {
    {operand, "operand", 0, T::any},
    {number, "number", 0, T::any},
    {whole, "whole", 0, T::numbers},
    {launch_number, "launch_number", 0, T::floating},
    {column_index, "column_index", 0, T::integers},
    {column_count, "column_count", 0, T::floating},
    {add, "add", 2, T::numbers},
    {subtract, "subtract", 2, T::numbers},
    {multiply, "multiply", 2, T::numbers},
    {divide, "divide", 2, T::floating},
    {remainder, "remainder", 2, T::f32},
    {multiply_add, "multiply_add", 3, T::floating},
    {negate, "negate", 1, T::numbers},
    {absolute, "absolute", 1, T::numbers},
    {sign, "sign", 1, T::numbers},
    {copy_sign, "copy_sign", 2, T::floating},
    {maximum, "maximum", 2, T::numbers},
    {minimum, "minimum", 2, T::numbers},
    {floor, "floor", 1, T::floating},
    {ceil, "ceil", 1, T::floating},
    {round, "round", 1, T::floating},
    {truncate, "truncate", 1, T::floating},
    {bit_and, "bit_and", 2, T::bits},
    {bit_or, "bit_or", 2, T::bits},
    {bit_xor, "bit_xor", 2, T::bits},
    {bit_not, "bit_not", 1, T::bits},
    {equal, "equal", 2, T::numbers},
    {not_equal, "not_equal", 2, T::numbers},
    {less, "less", 2, T::numbers},
    {less_equal, "less_equal", 2, T::numbers},
    {greater, "greater", 2, T::numbers},
    {greater_equal, "greater_equal", 2, T::numbers},
    {select, "select", 3, T::any},
    {convert, "convert", 1, T::numbers},
    {mask_to_number, "mask_to_number", 1, T::mask},
    {round_bf16, "round_bf16", 1, T::f32},
    {round_inside_bf16, "round_inside_bf16", 1, T::f32},
    {round_f16, "round_f16", 1, T::f32},
    {wrap_i16, "wrap_i16", 1, T::integers},
    {wrap_i8, "wrap_i8", 1, T::integers},
    {wrap_u8, "wrap_u8", 1, T::integers},
    {sqrt, "sqrt", 1, T::floating},
    {exp, "exp", 1, T::floating},
    {exp2, "exp2", 1, T::floating},
    {expm1, "expm1", 1, T::floating},
    {log, "log", 1, T::floating},
    {log2, "log2", 1, T::floating},
    {log10, "log10", 1, T::floating},
    {log1p, "log1p", 1, T::floating},
    {sin, "sin", 1, T::floating},
    {cos, "cos", 1, T::floating},
    {tan, "tan", 1, T::floating},
    {asin, "asin", 1, T::floating},
    {acos, "acos", 1, T::floating},
    {atan, "atan", 1, T::floating},
    {atan2, "atan2", 2, T::floating},
    {tanh, "tanh", 1, T::floating},
    {erf, "erf", 1, T::floating},
    {sigmoid, "sigmoid", 1, T::floating},
    {silu, "silu", 1, T::floating},
    {gelu, "gelu", 1, T::floating},
    {gelu_tanh, "gelu_tanh", 1, T::floating},
    {gelu_backward, "gelu_backward", 2, T::floating},
    {gelu_tanh_backward, "gelu_tanh_backward", 2, T::floating},
};

constexpr bool are_in_order() {
  for (int i = 0; i < scalar_op_count; ++i)
    if (records[i].op != static_cast<ScalarOp>(i)) return false;
  return sizeof(records) / sizeof(records[0]) == static_cast<size_t>(scalar_op_count);
}
static_assert(are_in_order());

}  // namespace

const ScalarOpRecord& record_of(ScalarOp op) { return records[static_cast<int>(op)]; }

std::string_view name_of(Lanes lanes) {
  static constexpr std::string_view names[] = {"f32", "f64", "i32", "i64", "mask"};
  return names[static_cast<int>(lanes)];
}

Lanes lanes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return Lanes::doubles;
    case Dtype::i64: return Lanes::longs;
    case Dtype::boolean: return Lanes::mask;
    default: return is_floating(dtype) ? Lanes::floats : Lanes::ints;
  }
}

bool accepts(TypeClass type, Lanes lanes) {
  const bool is_floating = lanes == Lanes::floats || lanes == Lanes::doubles;
  switch (type) {
    case TypeClass::any: return true;
    case TypeClass::numbers: return lanes != Lanes::mask;
    case TypeClass::floating: return is_floating;
    case TypeClass::f32: return lanes == Lanes::floats;
    case TypeClass::integers: return lanes == Lanes::ints;
    case TypeClass::bits: return !is_floating;
    case TypeClass::mask: return lanes == Lanes::mask;
  }
  return false;
}

}  // namespace fulgurite::codegen
