#include <algorithm>

#include "executors/onednn/convolution.h"
#include "executors/onednn/matmul.h"
#include "executors/registry.h"
#include "ops/generated/symbols.h"

namespace fulgurite {
namespace {

bool takes_dtype(Arguments arguments) {
  const Dtype dtype = arguments[0].tensor().dtype();
  return dtype == Dtype::f32 || dtype == Dtype::bf16;
}

const Implementation* find_implementation(const Symbol& symbol) {
  static const Implementation implementations[] = {
      {"onednn", &matmul_symbol, matmul_kernel, takes_dtype},
      {"onednn", &linear_symbol, linear_kernel, takes_dtype},
      {"onednn", &prims_convolution_symbol, convolution_kernel, takes_convolution},
      {"onednn", &prims_convolution_weight_symbol, convolution_weight_kernel, takes_convolution_weight}};
  const auto* const found = std::ranges::find(implementations, &symbol, &Implementation::symbol);
  return found != std::end(implementations) ? found : nullptr;
}

}  // namespace

const Executor& onednn_executor() {
  static const Executor executor{"onednn", find_implementation};
  return executor;
}

}  // namespace fulgurite
