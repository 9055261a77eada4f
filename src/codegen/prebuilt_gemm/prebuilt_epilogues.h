// The epilogues of prebuilt GEMMs, as code and as the text that codegen/gemm/gemm_epilogue.cpp prints for it.
#pragma once
#include "codegen/device_lib/activations.h"
#include "codegen/device_lib/gemm_microkernel.h"

#define FULGURITE_EPILOGUE(Name, ...)                                                               \
  struct Name {                                                                                     \
    static constexpr const char* statements = #__VA_ARGS__;                                         \
    static __attribute__((always_inline)) void finish(const GemmLaunch& launch, const Floats& sums, \
                                                      const ResultPart& at) {                       \
      __VA_ARGS__                                                                                   \
    }                                                                                               \
  };

namespace fulgurite::FULGURITE_KERNELS {

namespace {

FULGURITE_EPILOGUE(StoreFloat, store(at.of<float>(launch, 0), at, sums);)
FULGURITE_EPILOGUE(StoreRoundedFloat, store(at.of<float>(launch, 0), at, round_to_bfloat16(sums));)
FULGURITE_EPILOGUE(StoreBFloat16, store(at.of<BFloat16>(launch, 0), at, sums);)
FULGURITE_EPILOGUE(AddFloatStoreFloat, const Floats bias = load(at.of<const float>(launch, 1), at);
                   store(at.of<float>(launch, 0), at, sums + bias);)
FULGURITE_EPILOGUE(AddFloatStoreBFloat16,
                   const Floats bias = round_to_bfloat16(load(at.of<const float>(launch, 1), at));
                   store(at.of<BFloat16>(launch, 0), at, sums + bias);)
FULGURITE_EPILOGUE(AddBFloat16StoreBFloat16, const Floats bias = load(at.of<const BFloat16>(launch, 1), at);
                   store(at.of<BFloat16>(launch, 0), at, sums + bias);)
// A layer followed by gelu, in either form, and the backward that computes gelu's cotangent. The backward recomputes
// gelu's result.
FULGURITE_EPILOGUE(GeluKeepFloat, const Floats bias = load(at.of<const float>(launch, 2), at);
                   const Floats linear = sums + bias; const Floats gelu_ = gelu(linear);
                   store(at.of<float>(launch, 0), at, linear); store(at.of<float>(launch, 1), at, gelu_);)
FULGURITE_EPILOGUE(GeluBackwardFloat, const Floats other = load(at.of<const float>(launch, 2), at);
                   const Floats gelu_ = gelu(other); const Floats gelu_backward_ = gelu_backward(sums, other);
                   store(at.of<float>(launch, 0), at, gelu_); store(at.of<float>(launch, 1), at, gelu_backward_);)
FULGURITE_EPILOGUE(GeluTanhKeepFloat, const Floats bias = load(at.of<const float>(launch, 2), at);
                   const Floats linear = sums + bias; const Floats gelu_ = gelu_tanh(linear);
                   store(at.of<float>(launch, 0), at, linear); store(at.of<float>(launch, 1), at, gelu_);)
FULGURITE_EPILOGUE(GeluTanhBackwardFloat, const Floats other = load(at.of<const float>(launch, 2), at);
                   const Floats gelu_ = gelu_tanh(other); const Floats gelu_backward_ = gelu_tanh_backward(sums, other);
                   store(at.of<float>(launch, 0), at, gelu_); store(at.of<float>(launch, 1), at, gelu_backward_);)
FULGURITE_EPILOGUE(GeluKeepBFloat16, const Floats bias = round_to_bfloat16(load(at.of<const float>(launch, 2), at));
                   const Floats linear = round_to_bfloat16(sums + bias); const Floats gelu_ = gelu(linear);
                   store(at.of<BFloat16>(launch, 0), at, linear); store(at.of<BFloat16>(launch, 1), at, gelu_);)
FULGURITE_EPILOGUE(GeluBackwardBFloat16, const Floats matmul = round_to_bfloat16(sums);
                   const Floats other = load(at.of<const BFloat16>(launch, 2), at); const Floats gelu_ = gelu(other);
                   const Floats gelu_backward_ = gelu_backward(matmul, other);
                   store(at.of<BFloat16>(launch, 0), at, gelu_); store(at.of<BFloat16>(launch, 1), at, gelu_backward_);)
FULGURITE_EPILOGUE(GeluTanhKeepBFloat16, const Floats bias = round_to_bfloat16(load(at.of<const float>(launch, 2), at));
                   const Floats linear = round_to_bfloat16(sums + bias); const Floats gelu_ = gelu_tanh(linear);
                   store(at.of<BFloat16>(launch, 0), at, linear); store(at.of<BFloat16>(launch, 1), at, gelu_);)
FULGURITE_EPILOGUE(GeluTanhBackwardBFloat16, const Floats matmul = round_to_bfloat16(sums);
                   const Floats other = load(at.of<const BFloat16>(launch, 2), at);
                   const Floats gelu_ = gelu_tanh(other);
                   const Floats gelu_backward_ = gelu_tanh_backward(matmul, other);
                   store(at.of<BFloat16>(launch, 0), at, gelu_); store(at.of<BFloat16>(launch, 1), at, gelu_backward_);)

}  // namespace

}  // namespace fulgurite::FULGURITE_KERNELS

#undef FULGURITE_EPILOGUE
