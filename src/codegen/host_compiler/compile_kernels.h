#pragma once
#include <span>
#include <string>
#include <vector>

#include "codegen/device_lib/launch.h"

namespace fulgurite::codegen {

enum class InstructionSet : uint8_t { baseline, avx2, avx512, avx512_bf16 };
/// The best of the first three that this CPU has, which eager kernels use too.
InstructionSet best_instruction_set();

/// The instructions that kernels may use.
struct Instructions {
  InstructionSet set = best_instruction_set();
  bool has_amx = false;  // AMX for bf16
};

/// A kernel to be compiled.
struct KernelSource {
  std::string name;        // of its function
  std::string text;        // the function
  std::string plain_text;  // the same with plain names: kernels with the same plain text are equal
  bool is_wide = false, has_angles = false, is_gemm = false;  // the parts of the header that it needs
  bool is_scalar = false;                                     // it needs the header of kernels in scalar form
};

/// Compiles kernels; returns their functions in order, or none if they cannot be compiled. Kernels new to this process
/// are grouped into translation units of a few, which come from the cache of compiled libraries or are compiled in
/// parallel. A failure is reported once on stderr, and remembered. Functions stay valid for ever. Thread-safe.
std::vector<kernels::KernelFunction> compile_kernels(std::span<const KernelSource>, Instructions = {});

}  // namespace fulgurite::codegen
