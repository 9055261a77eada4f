#pragma once
#include <memory>
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

/// A compiled kernel, and the library that contains it, which is closed when its last kernel is dropped.
struct CompiledKernel {
  kernels::KernelFunction function = nullptr;
  std::shared_ptr<const void> library = {};
};

/// Compiles kernels; returns them in order, or none if they cannot be compiled. Kernels that no open library contains
/// are grouped into translation units of a few, which come from the cache of compiled libraries or are compiled in
/// parallel. A failure is reported once on stderr, and remembered. Thread-safe.
std::vector<CompiledKernel> compile_kernels(std::span<const KernelSource>, Instructions = {});

}  // namespace fulgurite::codegen
