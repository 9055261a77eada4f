#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/device_lib/launch.h"

namespace fulgurite::codegen {

enum class InstructionSet : uint8_t { baseline, avx2, avx512, avx512_bf16 };
/// The best of the first three that this CPU has: also what eager kernels run on.
InstructionSet best_instruction_set();

/// What kernels may be made of.
struct Instructions {
  InstructionSet set = best_instruction_set();
  bool has_amx = false;  // AMX for bf16
};

/// A kernel to be compiled.
struct KernelSource {
  std::string name;        // of its function
  std::string text;        // the function
  std::string plain_text;  // the same with plain names: kernels that are equal in it are one
  bool is_wide = false, has_angles = false, is_gemm = false;  // what of the header it needs
};

/// The functions of kernels, in order; none where they cannot be compiled. Those that this process has not seen yet are in translation
/// units of a few: these are taken from the cache of compiled libraries, or compiled beside one another. What goes wrong is said on stderr once, and failures are
/// remembered. Functions stay valid for ever. Thread-safe.
std::vector<kernels::KernelFunction> compile_kernels(std::span<const KernelSource>, Instructions = {});

}  // namespace fulgurite::codegen
