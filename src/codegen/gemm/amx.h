#pragma once

namespace fulgurite::codegen {

/// Returns true if this CPU has AMX with bf16 and the system lets this process use it, which is requested once.
/// Thread-safe.
bool amx_is_usable();

}  // namespace fulgurite::codegen
