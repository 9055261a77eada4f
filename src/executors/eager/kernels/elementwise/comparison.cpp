// Comparisons, and logical and bitwise operators of two operands.
#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/rows.h"
#include "ops/core/dispatch.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

#define FULGURITE_COMPARISON(Name, value) \
  struct Name {                           \
    template <class T>                    \
    static bool apply(T a, T b) {         \
      return value;                       \
    }                                     \
  };
FULGURITE_COMPARISON(Equal, a == b)
FULGURITE_COMPARISON(NotEqual, a != b)
FULGURITE_COMPARISON(Less, a < b)
FULGURITE_COMPARISON(LessEqual, a <= b)
FULGURITE_COMPARISON(Greater, a > b)
FULGURITE_COMPARISON(GreaterEqual, a >= b)
FULGURITE_COMPARISON(LogicalAnd, (a != 0) & (b != 0))
FULGURITE_COMPARISON(LogicalOr, (a != 0) | (b != 0))
FULGURITE_COMPARISON(LogicalXor, (a != 0) ^ (b != 0))
#undef FULGURITE_COMPARISON

#define FULGURITE_BITWISE(Name, value)               \
  struct Name {                                      \
    template <Integer T>                             \
    static T apply(T a, T b, const RowParameters&) { \
      return value;                                  \
    }                                                \
  };
FULGURITE_BITWISE(BitwiseAnd, a& b)
FULGURITE_BITWISE(BitwiseOr, a | b)
FULGURITE_BITWISE(BitwiseXor, a ^ b)
#undef FULGURITE_BITWISE

/// A small integer is compared with a number outside its type's range as if it were unbounded, because small integers
/// are computed as i32; a floating number against an integer tensor promotes, as in PyTorch.
template <class Operation>
void comparison(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = compute_dtype(result_dtype(arguments.first(2)));
  const Row row = visit_compute_type(
      dtype, [](auto type) -> Row { return comparison_row<Operation, typename decltype(type)::type>; });
  run_pointwise({row, {dtype, dtype}, Dtype::boolean}, {&arguments[0], &arguments[1]}, results[0]);
}
template <class Operation>
void bitwise(Arguments arguments, std::span<const Tensor> results) {
  const Dtype dtype = compute_dtype(results[0].impl()->dtype);
  const Row row = dtype == Dtype::i64 ? binary_row<Operation, int64_t> : binary_row<Operation, int32_t>;
  run_pointwise(uniform(row, dtype), {&arguments[0], &arguments[1]}, results[0]);
}

constexpr KernelEntry table[] = {
    {&eq_symbol, comparison<Equal>},
    {&ne_symbol, comparison<NotEqual>},
    {&lt_symbol, comparison<Less>},
    {&le_symbol, comparison<LessEqual>},
    {&gt_symbol, comparison<Greater>},
    {&ge_symbol, comparison<GreaterEqual>},
    {&logical_and_symbol, comparison<LogicalAnd>},
    {&logical_or_symbol, comparison<LogicalOr>},
    {&logical_xor_symbol, comparison<LogicalXor>},
    {&bitwise_and_symbol, bitwise<BitwiseAnd>},
    {&bitwise_or_symbol, bitwise<BitwiseOr>},
    {&bitwise_xor_symbol, bitwise<BitwiseXor>},
};

}  // namespace

KernelTable comparison_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
