// Common GEMMs, compiled with the library once for each instruction set that it supports, so that a first call does not
// wait for the compiler. They are equal to what codegen/gemm/gemm_kernel.cpp prints under the same names.
#include "codegen/prebuilt_gemm/prebuilt_epilogues.h"
#include "codegen/prebuilt_gemm/prebuilt_kernel.h"

namespace fulgurite::FULGURITE_KERNELS {

namespace {

template <class Element, class Number>
void pack(const GemmLaunch& launch, long first, long last) {
  pack_right<Element, Number>(launch, first, last);
}

template <class Left, class Number, class Epilogue>
void multiply(const GemmLaunch& launch, long first, long last) {
  multiply_blocks<Left, Number>(
      launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
        Epilogue::finish(launch, sums, at);
      });
}

struct NamedGemm {
  const char *name, *statements;
  GemmFunction function;
};
template <class Left, class Number, class Epilogue>
constexpr NamedGemm product(const char* name) {
  return {name, Epilogue::statements, multiply<Left, Number, Epilogue>};
}

constexpr NamedGemm products[] = {
    {"pack_bf16", "", pack<BFloat16, BFloat16>},
    {"pack_f32_as_bf16", "", pack<float, BFloat16>},
    product<BFloat16, BFloat16, StoreBFloat16>("multiply_bf16_to_bf16"),
    product<BFloat16, BFloat16, StoreRoundedFloat>("multiply_bf16_to_f32"),
    product<BFloat16, BFloat16, AddBFloat16StoreBFloat16>("multiply_bf16_add_bf16_to_bf16"),
    product<BFloat16, BFloat16, AddFloatStoreBFloat16>("multiply_bf16_add_f32_to_bf16"),
    product<float, BFloat16, StoreBFloat16>("multiply_f32_as_bf16_to_bf16"),
#if !defined(__AVX512F__) || defined(__AVX512BF16__)  // AVX-512 without bf16 dot products has plain epilogues only
    product<BFloat16, BFloat16, GeluKeepBFloat16>("multiply_bf16_add_f32_gelu_to_2_bf16"),
    product<BFloat16, BFloat16, GeluTanhKeepBFloat16>("multiply_bf16_add_f32_gelu_to_2_bf16"),
    product<BFloat16, BFloat16, GeluBackwardBFloat16>("multiply_bf16_gelu_gelu_backward_to_2_bf16"),
    product<BFloat16, BFloat16, GeluTanhBackwardBFloat16>("multiply_bf16_gelu_gelu_backward_to_2_bf16"),
#endif
#if !defined(__AVX512BF16__)  // GEMMs without bf16 pairs are compiled for fewer instruction sets
    {"pack_f32", "", pack<float, float>},
    product<float, float, StoreFloat>("multiply_f32_to_f32"),
    product<float, float, AddFloatStoreFloat>("multiply_f32_add_f32_to_f32"),
#if !defined(__AVX512F__)
    product<float, float, GeluKeepFloat>("multiply_f32_add_f32_gelu_to_2_f32"),
    product<float, float, GeluTanhKeepFloat>("multiply_f32_add_f32_gelu_to_2_f32"),
    product<float, float, GeluBackwardFloat>("multiply_f32_gelu_gelu_backward_to_2_f32"),
    product<float, float, GeluTanhBackwardFloat>("multiply_f32_gelu_gelu_backward_to_2_f32"),
#endif
#endif
};

}  // namespace

codegen::LibraryFunction library_product(const char* name, const char* statements) {
  for (const NamedGemm& product : products)
    if (__builtin_strcmp(product.name, name) == 0 && __builtin_strcmp(product.statements, statements) == 0)
      return reinterpret_cast<codegen::LibraryFunction>(product.function);
  return nullptr;
}

}  // namespace fulgurite::FULGURITE_KERNELS
