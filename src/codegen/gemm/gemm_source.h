#pragma once
#include <string>
#include <string_view>

#include "codegen/gemm/gemm_form.h"

namespace fulgurite::codegen {

/// A function of a GEMM kernel: its name and its statements, one a line.
struct GemmSource {
  std::string name, body;

  /// The function as C++; `linkage` stands before its type: "extern \"C\"".
  std::string text(std::string_view linkage) const;
};

/// The function that packs panels of the right operand: "pack_f32_as_bf16".
GemmSource packing_source(const GemmForm&);
/// The function that computes blocks of the result: "multiply_bf16_add_f32_to_bf16". `other` functions of this name
/// have other epilogues.
GemmSource multiplying_source(const GemmForm&, int other = 0);

/// The same GEMM in scalar form, over codegen/device_lib/scalar_gemm.h: a function of a launch with one K block, whose
/// numbers are those of the result's rows.
///
///     for (long row = first; row < last; ++row)
///       for (long column = 0; column < launch.right.rows; ++column) {
///         const float sum = sum_of_products<float, float, float>(launch, row, column);
///         store_element(matrix_row<float>(launch, 0, row) + column, sum);
///       }
GemmSource scalar_source(const GemmForm&, GemmUnit, std::string name);
/// The GEMM as kernel IR: its operands, the order of its sums and its epilogue.
///
///     left: bf16
///     right: f32, rounded to bf16
///     sums: product after product along K
///     store sums to result 0: bf16
std::string gemm_ir_text(const GemmForm&, GemmUnit);

}  // namespace fulgurite::codegen
