#pragma once
#include <cstdint>
#include <string_view>

#include <fulgurite/dtype.h>
#include <fulgurite/scalar_formula.h>

namespace fulgurite::codegen {

/// The type that a kernel computes a value in: f32 for all floating dtypes but f64, 32-bit integers for all but i64,
/// and masks, which are true or false.
enum class Lanes : uint8_t { floats, doubles, ints, longs, mask };
Lanes lanes_of(Dtype);
/// The name of the type in printed kernels: "f32", "f64", "i32", "i64", "mask".
std::string_view name_of(Lanes);

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
