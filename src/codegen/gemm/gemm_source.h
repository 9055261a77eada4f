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

}  // namespace fulgurite::codegen
