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

/// The planes of a depthwise convolution, and what the eager kernel computes of one.
struct Planes {
  int64_t count, taps, rows, columns;

  // The eager kernel computes whole vectors of a row.
  int64_t vector_products() const { return count * taps * rows * ((columns + 15) / 16); }
};

/// The planes of `made`, which `weight` takes from as many planes; a count of 0 if there are others, or too few.
Planes depthwise_planes(const TensorImpl& made, const TensorImpl& weight, int64_t groups) {
  const size_t n = made.sizes.size();
  const bool is_depthwise = weight.sizes[0] == groups && weight.sizes[1] == 1 && made.sizes[1] == groups;
  // The library computes 16 channels at a time.
  if (!is_depthwise || groups % 16 != 0 || n < 3 || n > 4) return {0, 1, 1, 1};
  const bool has_rows = n == 4;
  return {made.sizes[0] * groups, weight.sizes[n - 1] * (has_rows ? weight.sizes[2] : 1), has_rows ? made.sizes[2] : 1,
          made.sizes[n - 1]};
}

// The limits are measured: see docs/decisions/0001-convolutions.md.
bool is_faster(const Planes& planes, Dtype dtype) {
  return planes.vector_products() > 12000 && (dtype == Dtype::f32 || planes.columns <= 40 || planes.taps > 9);
}
bool is_faster_for_weight(const Planes& planes) {
  return planes.vector_products() > 24000 && planes.taps <= 9 && planes.columns <= 28;
}

#else

bool takes_dtype(Dtype) { return false; }
constexpr int64_t max_kernel_elements = 0;
bool run_library(Arguments, const Tensor&) { return false; }
bool run_library_weight(Arguments, const Tensor&) { return false; }
struct Planes {};
Planes depthwise_planes(const TensorImpl&, const TensorImpl&, int64_t) { return {}; }
bool is_faster(const Planes&, Dtype) { return false; }
bool is_faster_for_weight(const Planes&) { return false; }

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

bool prefers_library(Arguments arguments, const Tensor& result) {
  return takes_convolution(arguments) &&
         is_faster(depthwise_planes(*result.impl(), *arguments[1].tensor().impl(), arguments[8].integer().hint()),
                   result.impl()->dtype);
}

bool prefers_library_weight(Arguments arguments, const Tensor& result) {
  return takes_convolution_weight(arguments) &&
         is_faster_for_weight(
             depthwise_planes(*arguments[0].tensor().impl(), *result.impl(), arguments[6].integer().hint()));
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
