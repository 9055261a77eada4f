#pragma once
#include <span>
#include <string>
#include <vector>

#include <fulgurite/dtype.h>

#include "codegen/device_lib/launch.h"
#include "codegen/gemm/gemm_epilogue.h"
#include "codegen/host_compiler/compile_kernels.h"

namespace fulgurite::codegen {

/// What a product is, all but its sizes and strides. Numbers of one dtype are multiplied, f32, bf16 or f16; operands have it or are of f32: then they
/// are rounded to it first.
struct GemmForm {
  Dtype left = Dtype::bf16, right = Dtype::bf16;
  Dtype number = Dtype::bf16;
  GemmEpilogue epilogue = plain_epilogue(Dtype::bf16);

  friend bool operator==(const GemmForm&, const GemmForm&) = default;
};

/// A product, ready to run.
struct CompiledGemm {
  kernels::ProductFunction pack = nullptr;      // panels of the right operand
  kernels::ProductFunction multiply = nullptr;  // blocks of the result
  kernels::ProductTiles tiles{};
  std::string text, pack_name, multiply_name;
};

/// Whether this CPU has what product kernels are made of: AVX2 with FMA.
bool has_gemm_instructions();
/// What they are compiled for, of all that this CPU has: vectors that multiply pairs of bf16 (AVX-512 BF16), a matrix unit (AMX) that the system
/// lets this process use.
Instructions gemm_instructions();

/// Whether the library has products of its own: sanitized ones, and those for other kinds of CPUs, have none.
bool has_prebuilt_gemms();
/// In the forms' order; none where they cannot be compiled, as compile_kernels says. What most programs have is compiled with the library, from the
/// same text, and is taken from there unless all is to be generated.
std::vector<CompiledGemm> compile_gemms(std::span<const GemmForm>, Instructions = gemm_instructions(), bool generates_all = false);

}  // namespace fulgurite::codegen
