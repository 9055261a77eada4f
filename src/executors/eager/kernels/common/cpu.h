#pragma once

namespace fulgurite::FULGURITE_KERNELS {

/// Returns true if the CPU has the instructions of the variant avx512_bf16.
inline bool has_products_of_pairs() {
#if defined(__x86_64__)
  static const bool has_them = __builtin_cpu_supports("avx512bf16");
  return has_them;
#else
  return false;
#endif
}

}  // namespace fulgurite::FULGURITE_KERNELS
