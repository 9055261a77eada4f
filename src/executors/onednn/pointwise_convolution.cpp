#ifdef FULGURITE_ONEDNN
#include "executors/onednn/pointwise_convolution.h"

#include <algorithm>

#include "executors/eager/gemm_block.h"
#include "executors/eager/kernels.h"
#include "executors/onednn/gemm.h"
#include "runtime/threads/parallel_for.h"
#include "tensor/memory/scratch_memory.h"

namespace fulgurite {

namespace {

using Pass = ConvolutionCall::Pass;

/// A sample's channels are rows of all its positions.
bool has_rows(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  int64_t expected = 1;
  for (size_t d = impl.sizes.size(); d-- > 1;) {
    if (impl.sizes[d] != 1 && impl.strides[d] != expected) return false;
    expected *= impl.sizes[d];
  }
  return true;
}

float* elements_of(const Tensor& t) { return reinterpret_cast<float*>(t.impl()->data()); }
int64_t source_channels(const ConvolutionCall& call) { return call.source.impl()->sizes[1]; }
int64_t destination_channels(const ConvolutionCall& call) { return call.destination.impl()->sizes[1]; }

bool has_no_window(const ConvolutionCall& call) {
  const Sizes& sizes = call.weight.impl()->sizes;
  for (size_t d = 2; d < sizes.size(); ++d)
    if (sizes[d] != 1 || call.stride[d - 2] != 1 || call.before[d - 2] != 0 || call.after[d - 2] != 0) return false;
  return call.groups == 1;
}

bool is_faster(const ConvolutionCall& call) {
  const int64_t source = source_channels(call), destination = destination_channels(call), positions = call.positions();
  switch (call.pass) {
    case Pass::destination: return positions >= 128 && !call.bias.defined();  // which the library adds at no cost
    case Pass::source: return positions >= (source > 2 * destination ? 512 : 128);
    case Pass::weight: return std::min(source, destination) >= 128;
  }
  return false;
}

/// One matmul for each sample.
void multiply_samples(const ConvolutionCall& call) {
  const bool makes_source = call.pass == Pass::source;
  const Tensor &given = makes_source ? call.destination : call.source,
               &made = makes_source ? call.source : call.destination;
  const int64_t given_stride = given.impl()->strides[0], made_stride = made.impl()->strides[0], none = 0,
                samples = call.samples(), positions = call.positions(), width = source_channels(call);
  GemmCall gemm_call;
  gemm_call.m = made.impl()->sizes[1];
  gemm_call.k = given.impl()->sizes[1];
  gemm_call.n = positions;
  gemm_call.a = {elements_of(call.weight), makes_source ? 1 : width, makes_source ? width : 1, &none};
  gemm_call.b = {elements_of(given), positions, 1, &given_stride};
  gemm_call.c = elements_of(made);
  gemm_call.c_row = positions;
  gemm_call.c_batch_strides = &made_stride;
  gemm_call.batch = {&samples, 1};
  gemm(gemm_call);
}

/// The sum over all samples of left[n] · right[n]ᵀ for some rows of the weight, or of its transpose.
struct WeightGemm {
  explicit WeightGemm(const ConvolutionCall& of)
      : call(of),
        is_transposed(source_channels(of) > destination_channels(of)),
        left(is_transposed ? of.source : of.destination),
        right(is_transposed ? of.destination : of.source) {}

  int64_t rows() const { return left.impl()->sizes[1]; }
  int64_t columns() const { return right.impl()->sizes[1]; }

  void compute(int64_t first, int64_t count) const {
    float* const weight = elements_of(call.weight);
    if (!is_transposed) return add_samples(first, count, weight + first * columns());
    const ScratchMemory sums(count * columns() * static_cast<int64_t>(sizeof(float)));
    add_samples(first, count, reinterpret_cast<float*>(sums.data()));
    kernel_set().transpose_matrix(reinterpret_cast<const uint32_t*>(sums.data()), columns(),
                                  reinterpret_cast<uint32_t*>(weight + first), rows(), count, columns());
  }
  void add_samples(int64_t first, int64_t count, float* to) const {
    const int64_t positions = call.positions();
    GemmBlock block;
    block.m = count;
    block.n = columns();
    block.k = positions;
    block.a_row = positions;
    block.b_row = 1;
    block.b_column = positions;
    block.c = to;
    block.c_row = columns();
    for (int64_t n = 0; n < call.samples(); ++n) {
      block.a = elements_of(left) + n * left.impl()->strides[0] + first * positions;
      block.b = elements_of(right) + n * right.impl()->strides[0];
      block.beta = n > 0 ? 1 : 0;
      multiply_serially(block);
    }
  }

  const ConvolutionCall& call;
  const bool is_transposed;  // GEMMs with more rows than columns are faster
  const Tensor &left, &right;
};

void multiply_weight(const ConvolutionCall& call) {
  constexpr int64_t rows_of_task = 128;
  const WeightGemm weight(call);
  parallel_for((weight.rows() + rows_of_task - 1) / rows_of_task, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task * rows_of_task;
      weight.compute(first, std::min(rows_of_task, weight.rows() - first));
    }
  });
}

}  // namespace

bool is_pointwise_gemm(const ConvolutionCall& call) {
  if (call.source.impl()->dtype != Dtype::f32 || !library_has_avx512() || !has_no_window(call) || !is_faster(call))
    return false;
  return has_rows(call.source) && has_rows(call.destination) && call.weight.impl()->is_contiguous;
}

void run_pointwise_gemm(const ConvolutionCall& call) {
  if (call.pass == Pass::weight) multiply_weight(call);
  else multiply_samples(call);
}

}  // namespace fulgurite

#endif
