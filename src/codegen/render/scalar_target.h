#pragma once
#include <string>
#include <vector>

#include "codegen/ir/gemm_epilogue.h"
#include "codegen/render/target.h"

namespace fulgurite::codegen {

/// Plain C++ without vectors: one element at a time. The form to read, and the one that the vectors' is tested against.
extern const Target scalar_target;
/// The type of one element: "float", "bool".
std::string_view scalar_type_text(Lanes);

/// The kernel as a C++ function over codegen/device_lib/scalar.h, with the same arguments and the same bits as
/// vector_kernel's.
///
///     for (Row row(launch, first); first < last; row.next(), ++first) {
///       const float* const t0_row = row.of<const float>(0);
///       float* const t1_row = row.of<float>(1);
///       for (long c = 0; c < launch.columns; ++c) {
///         const float t0 = load_element(t0_row + c);
///         const float t1 = exp(t0) * 0.5f;
///         store_element(t1_row + c, t1);
///       }
///     }
std::string scalar_kernel(const Kernel&, const Schedule&, const std::string& name, bool plain_names);

/// The statements of an epilogue, over `sum`, `row`, `column` and the launch:
/// "const float bias = load_element(matrix_row<const float>(launch, 1, row) + column);", …
/// If `flushes_bf16`, bf16 results are stored as by vcvtneps2bf16, for which subnormal numbers are zero.
std::vector<std::string> scalar_epilogue(const GemmEpilogue&, bool flushes_bf16);

}  // namespace fulgurite::codegen
