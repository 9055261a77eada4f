#pragma once
#include <string_view>

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

/// The kernel as a C++ function over codegen/device_lib/rows.h; with `plain_names` its values are v0, v1, …, so that
/// equal kernels have equal texts.
std::string vector_kernel(const Kernel&, const Schedule&, const std::string& name, bool plain_names);

}  // namespace fulgurite::codegen
