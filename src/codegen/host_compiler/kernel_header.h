#pragma once
#include <string>
#include <string_view>

namespace fulgurite::codegen {

/// The header that generated kernels are compiled with, as one text without includes: vector.h, device_lib/math.h, …
/// `wide` adds 64-bit numbers, `angles` tangents, arcs and remainders, `gemm` those of GEMMs.
std::string kernel_header(bool wide, bool angles, bool gemm);
/// Returns true if the header declares `name` (GEMM helpers excluded).
bool is_name_of_header(std::string_view name);

/// The header of kernels in scalar form: one_lane.h, device_lib/math.h, … and scalar.h.
std::string scalar_kernel_header();
bool is_name_of_scalar_header(std::string_view name);

}  // namespace fulgurite::codegen
