#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "codegen/lowering/kernel.h"

namespace fulgurite::codegen {

/// The type of an element in memory: "BFloat16".
std::string_view element_text(Dtype);
/// The type of sixteen of them in registers: "Floats".
std::string_view lanes_text(Lanes);
/// A computed value's expression with its operands named.
std::string expression_text(const KernelValue&, const std::function<const std::string&(int value)>& name);

}  // namespace fulgurite::codegen
