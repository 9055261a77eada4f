#include "codegen/gemm/cpu.h"

#include "codegen/gemm/amx.h"

namespace fulgurite::codegen {

bool has_pair_products() {
#if defined(__x86_64__)
  static const bool has_them = __builtin_cpu_supports("avx512bf16");
  return has_them;
#else
  return false;
#endif
}

bool pair_products_are_halved() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

bool pair_products_are_fast() { return has_pair_products() && (!pair_products_are_halved() || amx_is_usable()); }

bool prefetches_few_rows([[maybe_unused]] int64_t bytes) {
#if defined(__x86_64__)
  constexpr int64_t megabyte = 1 << 20;
  return bytes >= megabyte && __builtin_cpu_is("intel");
#else
  return false;
#endif
}

}  // namespace fulgurite::codegen
