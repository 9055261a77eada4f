#include "codegen/gemm/pair_products.h"

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

bool pair_products_are_fast() {
#if defined(__x86_64__)
  static const bool are_fast = has_pair_products() && (!__builtin_cpu_is("intel") || amx_is_usable());
  return are_fast;
#else
  return false;
#endif
}

}  // namespace fulgurite::codegen
