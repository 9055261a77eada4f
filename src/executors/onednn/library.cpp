#include "executors/onednn/library.h"

#ifdef FULGURITE_ONEDNN
#include "codegen/gemm/cpu.h"
#include "executors/onednn/library_objects.h"

namespace fulgurite {
namespace {

// A matrix whose rows or columns are contiguous.
struct Layout {
  bool is_supported, is_transposed;
  int64_t leading;
};
Layout layout_of(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  if (column == 1 && (row >= columns || rows == 1)) return {true, false, row >= columns ? row : columns};
  if (row == 1 && (column >= rows || columns == 1)) return {true, true, column >= rows ? column : rows};
  return {false, false, 0};
}

void start_with_bias(const GemmBlock& p) {
  const float* bias = static_cast<const float*>(p.bias);
  for (int64_t i = 0; i < p.m; ++i) {
    float* row = static_cast<float*>(p.c) + i * p.c_row;
    for (int64_t j = 0; j < p.n; ++j) row[j] = bias[j * p.bias_stride];
  }
}

bool multiply_f32(const GemmBlock& p, const Layout& a, const Layout& b) {
  double beta = p.beta;
  if (p.bias != nullptr) {
    if (beta != 0) return false;
    start_with_bias(p);
    beta = 1;
  }
  return dnnl_sgemm(a.is_transposed ? 'T' : 'N', b.is_transposed ? 'T' : 'N', p.m, p.n, p.k,
                    static_cast<float>(p.alpha), static_cast<const float*>(p.a), a.leading,
                    static_cast<const float*>(p.b), b.leading, static_cast<float>(beta), static_cast<float*>(p.c),
                    p.c_row) == dnnl_success;
}

dnnl_memory_desc_t matrix(int64_t rows, int64_t columns, bool is_transposed, int64_t leading) {
  const dnnl_dims_t sizes = {rows, columns};
  const dnnl_dims_t strides = {is_transposed ? 1 : leading, is_transposed ? leading : 1};
  dnnl_memory_desc_t result;
  dnnl_memory_desc_init_by_strides(&result, 2, sizes, dnnl_bf16, strides);
  return result;
}

#define FULGURITE_TRY(call) \
  if ((call) != dnnl_success) return false

// Caches the library's primitives by their descriptions: creating one takes a microsecond or two.
bool multiply_bf16(const GemmBlock& p, const Layout& a, const Layout& b) {
  if (p.bias != nullptr && (p.bias_stride != 1 || p.beta != 0)) return false;
  if (engine() == nullptr) return false;
  const dnnl_memory_desc_t a_type = matrix(p.m, p.k, a.is_transposed, a.leading);
  const dnnl_memory_desc_t b_type = matrix(p.k, p.n, b.is_transposed, b.leading);
  const dnnl_memory_desc_t c_type = matrix(p.m, p.n, false, p.c_row);
  const dnnl_memory_desc_t bias_type = matrix(1, p.n, false, p.n);

  AttributeHandle attributes;
  FULGURITE_TRY(dnnl_primitive_attr_create(attributes.address()));
  if (p.alpha != 1) {
    const float scale = static_cast<float>(p.alpha);
    FULGURITE_TRY(dnnl_primitive_attr_set_output_scales(attributes.get(), 1, 0, &scale));
  }
  if (p.beta != 0) {
    PostOpsHandle post_ops;
    FULGURITE_TRY(dnnl_post_ops_create(post_ops.address()));
    FULGURITE_TRY(dnnl_post_ops_append_sum(post_ops.get(), static_cast<float>(p.beta)));
    FULGURITE_TRY(dnnl_primitive_attr_set_post_ops(attributes.get(), post_ops.get()));
  }
  dnnl_matmul_desc_t operation;
  FULGURITE_TRY(dnnl_matmul_desc_init(&operation, &a_type, &b_type, p.bias != nullptr ? &bias_type : nullptr, &c_type));
  DescriptorHandle description;
  FULGURITE_TRY(dnnl_primitive_desc_create(description.address(), &operation, attributes.get(), engine(), nullptr));
  PrimitiveHandle primitive;
  FULGURITE_TRY(dnnl_primitive_create(primitive.address(), description.get()));

  MemoryHandle memory[4];
  FULGURITE_TRY(dnnl_memory_create(memory[0].address(), &a_type, engine(), const_cast<void*>(p.a)));
  FULGURITE_TRY(dnnl_memory_create(memory[1].address(), &b_type, engine(), const_cast<void*>(p.b)));
  FULGURITE_TRY(dnnl_memory_create(memory[2].address(), &c_type, engine(), p.c));
  dnnl_exec_arg_t arguments[4] = {{DNNL_ARG_SRC, memory[0].get()},
                                  {DNNL_ARG_WEIGHTS, memory[1].get()},
                                  {DNNL_ARG_DST, memory[2].get()},
                                  {DNNL_ARG_BIAS, nullptr}};
  if (p.bias != nullptr) {
    FULGURITE_TRY(dnnl_memory_create(memory[3].address(), &bias_type, engine(), const_cast<void*>(p.bias)));
    arguments[3].memory = memory[3].get();
  }
  StreamHandle stream;
  FULGURITE_TRY(dnnl_stream_create(stream.address(), engine(), dnnl_stream_default_flags));
  FULGURITE_TRY(dnnl_primitive_execute(primitive.get(), stream.get(), p.bias != nullptr ? 4 : 3, arguments));
  return dnnl_stream_wait(stream.get()) == dnnl_success;
}
#undef FULGURITE_TRY

}  // namespace

bool library_multiply(const GemmBlock& p) {
  // The library multiplies pairs of bf16 wherever it can.
  const bool is_bf16 = p.dtype == Dtype::bf16 && codegen::pair_products_are_fast();
  if (p.dtype != Dtype::f32 && !is_bf16) return false;
  const Layout a = layout_of(p.m, p.k, p.a_row, p.a_column);
  const Layout b = layout_of(p.k, p.n, p.b_row, p.b_column);
  if (!a.is_supported || !b.is_supported) return false;
  const SerialScope serial;
  return p.dtype == Dtype::f32 ? multiply_f32(p, a, b) : multiply_bf16(p, a, b);
}

}  // namespace fulgurite

#else

namespace fulgurite {
bool library_multiply(const GemmBlock&) { return false; }
}  // namespace fulgurite

#endif
