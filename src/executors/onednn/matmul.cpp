#include "executors/onednn/matmul.h"

#include "executors/onednn/gemm.h"
#include "runtime/copy_elements.h"

namespace fulgurite {
namespace {

// A stack of matrices: the last two dimensions, and the batch dimensions before them.
struct Stack {
  const TensorImpl* tensor;
  int64_t rows, columns, row_stride, column_stride;
  size_t batch_dimensions;
};

Stack left_operand(const Tensor& t) {
  const TensorImpl* x = t.impl().get();
  const size_t n = x->sizes.size();
  if (n == 1) return {x, 1, x->sizes[0], 0, x->strides[0], 0};
  return {x, x->sizes[n - 2], x->sizes[n - 1], x->strides[n - 2], x->strides[n - 1], n - 2};
}
Stack right_operand(const Tensor& t) {
  const TensorImpl* x = t.impl().get();
  const size_t n = x->sizes.size();
  if (n == 1) return {x, x->sizes[0], 1, x->strides[0], 0, 0};
  return left_operand(t);
}

// The stride of a stack along batch dimension `d` of `count`; 0 if it is broadcast.
int64_t batch_stride(const Stack& s, size_t d, size_t count) {
  if (d + s.batch_dimensions < count) return 0;
  const size_t own = d - (count - s.batch_dimensions);
  return s.tensor->sizes[own] == 1 ? 0 : s.tensor->strides[own];
}
int64_t batch_size(const Stack& s, size_t d, size_t count) {
  return d + s.batch_dimensions < count ? 1 : s.tensor->sizes[d - (count - s.batch_dimensions)];
}

struct Options {
  double alpha = 1, beta = 0;
  const Tensor* bias = nullptr;  // a row
  const CodeMatrix* codes = nullptr;
};

void multiply(const Stack& a, const Stack& b, const Tensor& result, const Options& options) {
  const size_t count = a.batch_dimensions > b.batch_dimensions ? a.batch_dimensions : b.batch_dimensions;
  GemmCall call;
  call.dtype = result.impl()->dtype;
  call.m = a.rows;
  call.n = b.columns;
  call.k = a.columns;
  call.a = {a.tensor->data(), a.row_stride, a.column_stride, nullptr};
  call.b = {options.codes != nullptr ? nullptr : b.tensor->data(), b.row_stride, b.column_stride, nullptr};
  call.codes = options.codes;
  call.c = result.impl()->data();
  call.c_row = b.columns;
  call.alpha = options.alpha;
  call.beta = options.beta;
  if (options.bias != nullptr) {
    const TensorImpl* bias = options.bias->impl().get();
    call.bias = bias->data();
    call.bias_stride = bias->sizes.empty() || bias->sizes.back() == 1 ? 0 : bias->strides.back();
  }

  // Batch dimensions along which only A moves, with strides that continue its rows, become more rows of one GEMM.
  size_t kept = count;
  for (; kept > 0; --kept) {
    const int64_t size_of_a = batch_size(a, kept - 1, count), size_of_b = batch_size(b, kept - 1, count);
    if (size_of_a == 1 && size_of_b == 1) continue;
    const int64_t stride = batch_stride(a, kept - 1, count);
    if (size_of_b != 1 || (call.m != 1 && stride != call.m * call.a.row)) break;
    if (call.m == 1) call.a.row = stride;
    call.m *= size_of_a;
  }
  Sizes sizes(kept), a_strides(kept), b_strides(kept), c_strides(kept);
  int64_t step = call.m * call.n;
  for (size_t d = kept; d-- > 0;) {
    const int64_t size_of_a = batch_size(a, d, count);
    sizes[d] = size_of_a == 1 ? batch_size(b, d, count) : size_of_a;
    a_strides[d] = batch_stride(a, d, count);
    b_strides[d] = batch_stride(b, d, count);
    c_strides[d] = step;
    step *= sizes[d];
  }
  if (kept > 0) {
    call.batch = {sizes.data(), kept};
    call.a.batch_strides = a_strides.data();
    call.b.batch_strides = b_strides.data();
    call.c_batch_strides = c_strides.data();
  }
  gemm(call);
}

}  // namespace

void matmul_kernel(Arguments arguments, std::span<const Tensor> results) {
  multiply(left_operand(arguments[0].tensor()), right_operand(arguments[1].tensor()), results[0], {});
}

void addmm_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& added = arguments[0].tensor();
  Options options;
  options.beta = arguments[3].floating();
  options.alpha = arguments[4].floating();
  const Sizes& sizes = added.impl()->sizes;
  const bool is_row = sizes.size() == 1 || (sizes.size() == 2 && sizes[0] == 1);
  if (is_row && options.beta == 1) {
    options.beta = 0;
    options.bias = &added;
  } else if (options.beta != 0) {
    copy_elements(added, results[0]);
  }
  multiply(left_operand(arguments[1].tensor()), left_operand(arguments[2].tensor()), results[0], options);
}

void linear_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& bias = arguments[2].tensor_or_none();
  const TensorImpl* weight = arguments[1].tensor().impl().get();
  Stack transposed{weight, weight->sizes.back(), 1, weight->strides.back(), 0, 0};
  if (weight->sizes.size() == 2) {
    transposed.columns = weight->sizes[0];
    transposed.column_stride = weight->strides[0];
  }
  Options options;
  if (bias.defined()) options.bias = &bias;
  multiply(left_operand(arguments[0].tensor()), transposed, results[0], options);
}

void multiply_with_codes(const Tensor& input, const CodeMatrix& codes, int64_t rows, const Tensor& bias,
                         const Tensor& result) {
  Options options;
  options.codes = &codes;
  if (bias.defined()) options.bias = &bias;
  multiply(left_operand(input), {nullptr, codes.columns, rows, 1, codes.columns, 0}, result, options);
}

}  // namespace fulgurite
