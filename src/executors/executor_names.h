#pragma once
#include <string_view>

namespace fulgurite {

/// The present name of an executor: "products", the name of "gemm" before 0.2, still stands for it.
std::string_view present_executor_name(std::string_view name);

}  // namespace fulgurite
