#pragma once
#include <cstdint>
#include <string_view>

#include <fulgurite/dtype.h>

namespace fulgurite::codegen {

/// The type that a kernel computes a value in: f32 for all floating dtypes but f64, 32-bit integers for all but i64,
/// and masks, which are true or false.
enum class Lanes : uint8_t { floats, doubles, ints, longs, mask };
Lanes lanes_of(Dtype);
/// The name of the type in printed kernels: "f32", "f64", "i32", "i64", "mask".
std::string_view name_of(Lanes);

/// The operations of kernel expressions. Integers wrap around. Each target has one table from operations to text.
enum class ScalarOp : uint8_t {
  // Without operands.
  operand,        // an operand of the kernel value, or an argument of an op's call
  number,         // a constant of the program
  whole,          // a small whole number that is exact in every type, part of an operation's definition
  launch_number,  // a number that is known only at launch, because it may be a size
  column_index,   // i32: the index of the element in its row
  column_count,   // the size of a row
  // Arithmetic in one type.
  add,
  subtract,
  multiply,
  divide,
  remainder,     // of a division rounded toward zero; exact
  multiply_add,  // a * b + c, rounded once if the target has an instruction for it
  negate,
  absolute,
  sign,
  copy_sign,
  maximum,  // NaN if either operand is
  minimum,
  floor,
  ceil,
  round,  // ties to even
  truncate,
  // Bits of integers and masks.
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  // Comparisons give a mask; `select` is its second operand where the mask holds, else its third.
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  select,
  // Conversions: as in C; a mask is 1 or 0.
  convert,
  mask_to_number,
  // Roundings to the numbers of a narrower dtype. Inside bf16: for values that are NaN only with the bits of a bf16
  // NaN.
  round_bf16,
  round_inside_bf16,
  round_f16,
  wrap_i16,
  wrap_i8,
  wrap_u8,
  // Functions of floating types.
  sqrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  atan2,
  tanh,
  erf,
  sigmoid,
  silu,
  gelu,
  gelu_tanh,
  gelu_backward,
  gelu_tanh_backward,
};
constexpr int scalar_op_count = static_cast<int>(ScalarOp::gelu_tanh_backward) + 1;

/// The types that an operation accepts.
enum class TypeClass : uint8_t { any, numbers, floating, f32, integers, bits, mask };
/// The signature of an operation.
struct ScalarOpRecord {
  ScalarOp op;
  std::string_view name;  // in printed kernels
  uint8_t operands;
  TypeClass type;  // of the operands that decide the type
};
const ScalarOpRecord& record_of(ScalarOp);

/// Returns true for equal, not_equal, less, …
constexpr bool is_comparison(ScalarOp op) { return op >= ScalarOp::equal && op <= ScalarOp::greater_equal; }
/// Returns true if values of the type may be operands.
bool accepts(TypeClass, Lanes);

}  // namespace fulgurite::codegen
