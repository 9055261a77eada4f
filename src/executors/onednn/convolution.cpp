#include "executors/onednn/convolution.h"

#include "ops/generated/symbols.h"

#ifdef FULGURITE_ONEDNN
#include "executors/onednn/library_convolution.h"
#endif

namespace fulgurite {

namespace {

#ifdef FULGURITE_ONEDNN

constexpr int64_t max_kernel_elements =
    128;  // larger ones are gradients of gradients, which are few columns of long sums

bool takes_dtype(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::bf16; }

bool run_library(Arguments a, const Tensor& result) {
  const bool is_transposed = a[6].boolean().hint();
  ConvolutionCall call;
  call.pass = is_transposed ? ConvolutionCall::Pass::source : ConvolutionCall::Pass::destination;
  call.source = is_transposed ? result : a[0].tensor();
  call.destination = is_transposed ? a[0].tensor() : result;
  call.weight = a[1].tensor();
  call.bias = a[2].tensor_or_none();
  call.groups = a[8].integer().hint();
  call.set_numbers(a[3], a[4], a[5]);
  return run_convolution(call);
}

bool run_library_weight(Arguments a, const Tensor& result) {
  ConvolutionCall call;
  call.pass = ConvolutionCall::Pass::weight;
  call.destination = a[0].tensor();
  call.source = a[1].tensor();
  call.weight = result;
  call.groups = a[6].integer().hint();
  call.set_numbers(a[3], a[4], a[5]);
  return run_convolution_weight(call);
}

#else

bool takes_dtype(Dtype) { return false; }
constexpr int64_t max_kernel_elements = 0;
bool run_library(Arguments, const Tensor&) { return false; }
bool run_library_weight(Arguments, const Tensor&) { return false; }

#endif

}  // namespace

bool takes_convolution(Arguments arguments) {
  const Tensor &x = arguments[0].tensor(), &weight = arguments[1].tensor();
  int64_t kernel = 1;
  for (int64_t d = 2; d < weight.ndim(); ++d) kernel *= weight.size(static_cast<int>(d)).hint();
  return takes_dtype(x.dtype()) && kernel <= max_kernel_elements;
}

bool takes_convolution_weight(Arguments arguments) {
  const auto sizes = arguments[2].integers();
  const auto count = static_cast<size_t>(arguments[0].tensor().ndim() - 2);
  int64_t kernel = 1;
  for (size_t d = 0; d < count; ++d) kernel *= sizes[sizes.size() == 1 ? 0 : d].hint();
  return takes_dtype(arguments[0].tensor().dtype()) && kernel <= max_kernel_elements;
}

bool library_convolution(Arguments arguments, const Tensor& result) {
  return takes_convolution(arguments) && run_library(arguments, result);
}

bool library_convolution_weight(Arguments arguments, const Tensor& result) {
  return takes_convolution_weight(arguments) && run_library_weight(arguments, result);
}

void convolution_kernel(Arguments arguments, std::span<const Tensor> results) {
  find_eager_implementation(prims_convolution_symbol)->kernel(arguments, results);
}

void convolution_weight_kernel(Arguments arguments, std::span<const Tensor> results) {
  find_eager_implementation(prims_convolution_weight_symbol)->kernel(arguments, results);
}

}  // namespace fulgurite
