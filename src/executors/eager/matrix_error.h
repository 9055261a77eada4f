#pragma once
#include <cstdint>

namespace fulgurite {

/// Reports a singular matrix, by its number in a batch of several.
[[noreturn, gnu::cold]] void throw_singular_error(int64_t matrix, int64_t batch);
/// Reports a matrix that is not positive definite.
[[noreturn, gnu::cold]] void throw_indefinite_error(int64_t matrix, int64_t batch);

}  // namespace fulgurite
