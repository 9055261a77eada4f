#pragma once
#include <string>
#include <string_view>

namespace fulgurite {

/// The SHA-256 digest (FIPS 180-4) of a string, as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace fulgurite
