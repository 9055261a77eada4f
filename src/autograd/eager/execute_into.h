#pragma once
#include "ops/core/dispatch.h"

namespace fulgurite {

/// Runs a call's kernel into `results`, which must be contiguous and of the inferred types, and counts the write. They
/// may alias arguments if the kernel reads each element before it writes it. Returns false without effect outside eager
/// mode or without a kernel.
bool execute_into(const Symbol&, Arguments, std::span<const Tensor> results);

}  // namespace fulgurite
