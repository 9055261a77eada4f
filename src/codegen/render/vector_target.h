#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/gemm_epilogue.h"
#include "codegen/render/target.h"

namespace fulgurite::codegen {

/// C++ over the lanes of codegen/device_lib: sixteen elements at a time.
extern const Target vector_target;
/// The type of sixteen elements in registers: "Floats".
std::string_view lanes_text(Lanes);

/// The parts of the kernel header that an expression needs beside the common ones.
struct HeaderParts {
  bool is_wide = false, has_angles = false;  // 64-bit numbers; tangents, arcs and remainders
};
HeaderParts header_parts(const ScalarExpr&);
HeaderParts header_parts(const Kernel&);
HeaderParts header_parts(const GemmEpilogue&);

/// The kernel as a C++ function over codegen/device_lib/rows.h; with `plain_names` its values are v0, v1, …, so that
/// equal kernels have equal texts.
std::string vector_kernel(const Kernel&, const Schedule&, const std::string& name, bool plain_names);

/// The statements of an epilogue, over `sums`, the position `at` and the launch, whose matrices are the results, then
/// the operands: "const Floats bias = load(at.of<const float>(launch, 1), at);", …
std::vector<std::string> vector_epilogue(const GemmEpilogue&);

}  // namespace fulgurite::codegen
