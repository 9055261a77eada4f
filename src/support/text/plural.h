#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fulgurite {

/// "1 call", "2 calls".
std::string counted(int64_t count, std::string_view noun);

}  // namespace fulgurite
