#pragma once

namespace fulgurite::test {

/// Registers the executor "scalar_fuser": the fuser, but for its kernels, which are compiled in scalar form. Its
/// results have the fuser's bits.
void register_scalar_fuser();

}  // namespace fulgurite::test
