#pragma once
#include <string>
#include <string_view>

namespace fulgurite::codegen {

/// The header that generated kernels are compiled with, as text: vector.h, device_lib/math.h, … in one piece, without includes.
/// With `wide`, 64-bit numbers too; with `angles`, tangents, arcs and remainders; with `product`, products of matrices.
std::string kernel_header(bool wide, bool angles, bool product);
/// What of the header a kernel's text needs.
bool uses_wide(std::string_view text);
bool uses_angles(std::string_view text);
/// Whether it declares something of this name, products aside.
bool is_name_of_header(std::string_view name);

}  // namespace fulgurite::codegen
