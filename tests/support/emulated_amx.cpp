#include "support/emulated_amx.h"

#include "codegen/gemm/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <csignal>
#include <ucontext.h>

#include <bit>
#include <cstdint>
#include <cstring>
#endif

// Instructions as Intel's Software Developer's Manual, volume 2, describes them.
namespace fulgurite::test {

#if defined(__x86_64__) && defined(__linux__)

namespace {

struct Tile {
  unsigned char rows[16][64];
};
/// As LDTILECFG reads them from memory.
struct Shapes {
  uint8_t palette, start, unused[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};
thread_local Tile tiles[8];
thread_local Shapes shapes;
struct sigaction before;

/// An instruction with a three-byte VEX prefix, and where its memory is.
struct Instruction {
  unsigned opcode, prefix, first, second,
      third;  // prefix: 0 none, 1 66, 2 F3, 3 F2; operands as ModRM.reg, ModRM.rm and VEX.vvvv name them
  bool has_memory;
  uintptr_t address, row_stride;
  size_t length;
};

int64_t register_of(const ucontext_t& at, unsigned number) {
  static constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return at.uc_mcontext.gregs[order[number]];
}

template <class Number>
int64_t read(const unsigned char*& at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  at += sizeof number;
  return number;
}

bool decode(const ucontext_t& context, Instruction& out) {
  const auto* const start = reinterpret_cast<const unsigned char*>(context.uc_mcontext.gregs[REG_RIP]);
  const unsigned char* at = start;
  if (at[0] != 0xc4 || (at[1] & 31) != 2) return false;
  const unsigned more_of_index = at[1] & 0x40 ? 0 : 8, more_of_base = at[1] & 0x20 ? 0 : 8;
  out.prefix = at[2] & 3;
  out.third = ~at[2] >> 3 & 15;
  out.opcode = at[3];
  const unsigned mode = at[4] >> 6, base_field = at[4] & 7;
  out.first = at[4] >> 3 & 7;
  out.second = base_field;
  out.has_memory = mode != 3;
  at += 5;
  int64_t address = 0;
  out.row_stride = 0;
  bool is_relative = false;
  if (out.has_memory) {
    unsigned base = base_field;
    if (base_field == 4) {
      const unsigned scale = *at >> 6, index = (*at >> 3 & 7) | more_of_index;
      base = *at++ & 7;
      if (index != 4) out.row_stride = static_cast<uintptr_t>(register_of(context, index)) << scale;
    }
    const bool has_no_base = base == 5 && mode == 0;
    is_relative = has_no_base && base_field == 5;
    if (!has_no_base) address = register_of(context, base | more_of_base);
    if (mode == 1) address += read<int8_t>(at);
    if (mode == 2 || has_no_base) address += read<int32_t>(at);
  }
  out.length = static_cast<size_t>(at - start);
  if (is_relative) address += reinterpret_cast<intptr_t>(at);
  out.address = static_cast<uintptr_t>(address);
  return true;
}

// Numbers too small to be normal count as zeros.
float flushed(float x) { return (std::bit_cast<uint32_t>(x) & 0x7f800000) == 0 ? 0.f : x; }
void widen(const unsigned char (&row)[64], float (&out)[32]) {
  for (int i = 0; i < 32; ++i)
    out[i] = flushed(std::bit_cast<float>(static_cast<uint32_t>(row[2 * i] | row[2 * i + 1] << 8) << 16));
}

// Even and odd neighbours are added up apart.
void add_products(Tile& sums, const Tile& left, const Tile& right) {
  float columns[16][32];
  for (int k = 0; k < 16; ++k) widen(right.rows[k], columns[k]);
  for (auto& row_bytes : sums.rows) {
    float factors[32], even[16] = {}, odd[16] = {}, row[16];
    widen(left.rows[&row_bytes - sums.rows], factors);
    for (int k = 0; k < 16; ++k)
      for (int n = 0; n < 16; ++n) {
        even[n] = flushed(even[n] + factors[2 * k] * columns[k][2 * n]);
        odd[n] = flushed(odd[n] + factors[2 * k + 1] * columns[k][2 * n + 1]);
      }
    std::memcpy(row, row_bytes, sizeof row);
    for (int n = 0; n < 16; ++n) row[n] = flushed(flushed(row[n]) + flushed(even[n] + odd[n]));
    std::memcpy(row_bytes, row, sizeof row);
  }
}

// A tile of any other shape, or one before the shapes are loaded, is refused as the CPU would.
bool is_whole(unsigned tile) { return shapes.palette == 1 && shapes.rows[tile] == 16 && shapes.row_bytes[tile] == 64; }

bool run(const Instruction& in) {
  constexpr unsigned move = 0x4b, manage = 0x49, multiply = 0x5c;
  auto* const memory = reinterpret_cast<unsigned char*>(in.address);
  if (in.opcode == manage && in.prefix == 0) {
    shapes = {};
    if (in.has_memory) std::memcpy(&shapes, memory, sizeof shapes);
    for (Tile& tile : tiles) tile = {};
    return true;
  }
  if (in.opcode == manage && in.prefix == 3 && !in.has_memory && is_whole(in.first)) {
    tiles[in.first] = {};
    return true;
  }
  if (in.opcode == move && in.has_memory && is_whole(in.first) && (in.prefix == 3 || in.prefix == 2)) {
    for (size_t r = 0; r < 16; ++r) {
      unsigned char* const row = memory + r * in.row_stride;
      if (in.prefix == 3) std::memcpy(tiles[in.first].rows[r], row, 64);
      else std::memcpy(row, tiles[in.first].rows[r], 64);
    }
    return true;
  }
  const bool is_gemm = in.opcode == multiply && in.prefix == 2 && !in.has_memory && in.third < 8;
  const bool are_apart = in.first != in.second && in.first != in.third && in.second != in.third;
  if (!is_gemm || !are_apart || !is_whole(in.first) || !is_whole(in.second) || !is_whole(in.third)) return false;
  add_products(tiles[in.first], tiles[in.second], tiles[in.third]);
  return true;
}

// All instructions for the unit up to the next other one: a signal takes longer than most of them.
void emulate(int, siginfo_t*, void* given) {
  auto& context = *static_cast<ucontext_t*>(given);
  bool is_known = false;
  for (Instruction instruction{}; decode(context, instruction) && run(instruction); is_known = true)
    context.uc_mcontext.gregs[REG_RIP] += static_cast<greg_t>(instruction.length);
  if (!is_known) sigaction(SIGILL, &before, nullptr);  // the instruction is met again
}

}  // namespace

EmulatedAmx::EmulatedAmx() : is_needed_(!codegen::amx_is_usable()) {
  if (!is_needed_) return;
  struct sigaction action {};
  action.sa_sigaction = emulate;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before);
}

EmulatedAmx::~EmulatedAmx() {
  if (is_needed_) sigaction(SIGILL, &before, nullptr);
}

#else

EmulatedAmx::EmulatedAmx() : is_needed_(false) {}
EmulatedAmx::~EmulatedAmx() = default;

#endif

}  // namespace fulgurite::test
