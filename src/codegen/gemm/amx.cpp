#include "codegen/gemm/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace fulgurite::codegen {

namespace {

#if defined(__x86_64__) && defined(__linux__)
bool has_unit() {
  constexpr unsigned bf16_tiles = 1U << 22, tiles = 1U << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & bf16_tiles) != 0 && (d & tiles) != 0;
}
// The system saves and restores the tiles' eight kilobytes only for processes that have requested it; using them
// without ends the process.
bool request_tile_permission() {
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#else
bool has_unit() { return false; }
bool request_tile_permission() { return false; }
#endif

}  // namespace

bool amx_is_usable() {
  static const bool is_usable = has_unit() && request_tile_permission();
  return is_usable;
}

}  // namespace fulgurite::codegen
