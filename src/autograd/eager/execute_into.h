#pragma once
#include "ops/core/dispatch.h"

namespace fulgurite {

/// Runs a call's kernel with `results` as they are, which must be contiguous and of the inferred types, and counts the
/// write. They may be arguments where the kernel reads each element before it writes it. False, and nothing done,
/// outside eager mode or without a kernel.
bool execute_into(const Symbol&, Arguments, std::span<const Tensor> results);

}  // namespace fulgurite
