// Products that most programs have, compiled with the library, once for each of the instructions there are for them: a first call does not
// wait for the compiler then. They are what codegen/product_kernel.cpp prints under the same names.
#include "codegen/library_products/library_product.h"
#include "codegen/vector_product.h"

namespace fulgurite::FULGURITE_KERNELS {

namespace {

struct NoBias {};

template <class Element, class Number>
void pack(const ProductLaunch& launch, long first, long last) {
  pack_right<Element, Number>(launch, first, last);
}

template <class Left, class Number, class Result, class Bias = NoBias>
void multiply(const ProductLaunch& launch, long first, long last) {
  multiply_blocks<Left, Number>(launch, first, last, [&](const Floats& sums, const ResultPart& at) __attribute__((always_inline)) {
    if constexpr (sizeof(Bias) == sizeof(NoBias)) {
      store(at.of<Result>(launch, 0), at, sums);
    } else {
      const Floats bias = load(at.of<const Bias>(launch, 1), at);
      store(at.of<Result>(launch, 0), at, sums + bias);
    }
  });
}

struct NamedProduct {
  const char* name;
  ProductFunction function;
};

constexpr NamedProduct products[] = {
    {"pack_bf16", pack<BFloat16, BFloat16>},
    {"pack_f32_as_bf16", pack<float, BFloat16>},
    {"multiply_bf16_to_bf16", multiply<BFloat16, BFloat16, BFloat16>},
    {"multiply_bf16_to_f32", multiply<BFloat16, BFloat16, float>},
    {"multiply_bf16_add_bf16_to_bf16", multiply<BFloat16, BFloat16, BFloat16, BFloat16>},
    {"multiply_bf16_add_f32_to_bf16", multiply<BFloat16, BFloat16, BFloat16, float>},
    {"multiply_f32_as_bf16_to_bf16", multiply<float, BFloat16, BFloat16>},
#if !defined(__AVX512BF16__)  // what does not multiply pairs is compiled for fewer
    {"pack_f32", pack<float, float>},
    {"multiply_f32_to_f32", multiply<float, float, float>},
    {"multiply_f32_add_f32_to_f32", multiply<float, float, float, float>},
#endif
};

}  // namespace

codegen::LibraryFunction library_product(const char* name) {
  for (const NamedProduct& product : products)
    if (__builtin_strcmp(product.name, name) == 0) return reinterpret_cast<codegen::LibraryFunction>(product.function);
  return nullptr;
}

}  // namespace fulgurite::FULGURITE_KERNELS
