#pragma once

namespace fulgurite::codegen {

/// Whether this CPU has a matrix unit that multiplies bf16 (AMX), and the system lets this process use it: it is asked for that once. Thread-safe.
bool matrix_unit_is_usable();

}  // namespace fulgurite::codegen
