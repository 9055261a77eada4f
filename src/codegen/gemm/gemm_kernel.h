#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/device_lib/launch.h"
#include "codegen/gemm/gemm_form.h"
#include "codegen/host_compiler/compile_kernels.h"

namespace fulgurite::codegen {

/// A compiled GEMM.
struct CompiledGemm {
  kernels::GemmFunction pack = nullptr;      // panels of the right operand
  kernels::GemmFunction multiply = nullptr;  // blocks of the result
  kernels::GemmTiles tiles{};
  GemmUnit unit = GemmUnit::elements;
  std::string text, pack_name, multiply_name;
  std::shared_ptr<const void> pack_library = {}, multiply_library = {};  // null for prebuilt functions
};

/// Returns true if this CPU has the instructions of GEMM kernels: AVX2 with FMA.
bool has_gemm_instructions();
/// The instructions that GEMMs are compiled for: the best that this CPU has, including AVX-512 BF16 where it is
/// faster than converting to f32, and AMX if the system lets this process use it.
Instructions gemm_instructions();

/// Returns true if the library has prebuilt GEMMs: not if it is sanitized, or built for other kinds of CPUs.
bool has_prebuilt_gemms();
/// Compiles GEMMs, in the forms' order; empty if they cannot be compiled, as compile_kernels reports. Common forms are
/// prebuilt, and used unless `generates_all`.
std::vector<CompiledGemm> compile_gemms(std::span<const GemmForm>, Instructions = gemm_instructions(),
                                        bool generates_all = false);

}  // namespace fulgurite::codegen
