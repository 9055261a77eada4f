#include "executors/gemm/gemm_kernel.h"

#include <memory>
#include <mutex>
#include <optional>

#include "codegen/gemm/gemm_source.h"
#include "executors/fused_kernel_visitor.h"
#include "executors/gemm/run_gemm.h"
#include "runtime/copy_elements.h"
#include "support/context.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::fused_gemm {

namespace {

Tensor copied(const Tensor& tensor) {
  Tensor copy = make_tensor(tensor.impl()->sizes, tensor.impl()->dtype);
  copy_elements(tensor, copy);
  return copy;
}

// Returns true if all dimensions but the last have one common stride.
bool has_rows(const TensorImpl& tensor) {
  const size_t last = tensor.sizes.size() - 1;
  int64_t next = 0;
  for (size_t d = last; d-- > 0;) {
    if (tensor.sizes[d] == 1) continue;
    if (next != 0 && tensor.strides[d] != next) return false;
    next = tensor.strides[d] * tensor.sizes[d];
  }
  return true;
}

// Flattens all dimensions but the last into rows.
DepthMatrix rows_of(const TensorImpl& tensor) {
  const size_t last = tensor.sizes.size() - 1;
  DepthMatrix rows{tensor.data(), 1, 0, tensor.strides[last]};
  for (size_t d = last; d-- > 0;) {
    if (rows.rows == 1) rows.row_stride = tensor.strides[d];
    rows.rows *= tensor.sizes[d];
  }
  return rows;
}

// Makes contiguous columns of a row with strided ones, or of one number for all.
Tensor expanded(const Tensor& given, int64_t columns) {
  Sizes sizes = given.impl()->sizes;
  sizes[sizes.size() - 1] = columns;
  Tensor copy = make_tensor(sizes, given.impl()->dtype);
  copy_elements(given, copy);
  return copy;
}

/// An operand of an epilogue; holds the copy that is read if its own columns are not contiguous.
class EpilogueMatrix {
 public:
  EpilogueMatrix(const Tensor& given, bool is_row, int64_t columns) {
    const TensorImpl& impl = *given.impl();
    const size_t last = impl.sizes.size() - 1;
    const bool lies_well =
        impl.sizes[last] == columns && (impl.strides[last] == 1 || columns == 1) && (is_row || has_rows(impl));
    if (!lies_well) copy_ = is_row ? expanded(given, columns) : copied(given);
    const TensorImpl& read = lies_well ? impl : *copy_.impl();
    matrix_ = {read.data(), is_row ? 0 : rows_of(read).row_stride};
  }
  const ColumnMatrix& matrix() const { return matrix_; }

 private:
  Tensor copy_;
  ColumnMatrix matrix_;
};

}  // namespace

/// GEMMs with their kernels, so that equal ones are shared. Traces and programs own them.
class GemmImplementations {
 public:
  std::vector<ImplementationRef> get(std::span<const GemmOp> products) {
    std::vector<codegen::GemmForm> forms;
    for (const GemmOp& product : products) forms.push_back(product.form);
    std::vector<codegen::CompiledGemm> kernels = codegen::compile_gemms(forms);
    std::vector<ImplementationRef> out;
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const std::weak_ptr<const Entry>& entry) { return entry.expired(); });
    for (size_t i = 0; i < kernels.size(); ++i) out.push_back(get(products[i], std::move(kernels[i])));
    return out;
  }

 private:
  struct Entry {
    Entry(const GemmOp& of, codegen::CompiledGemm kernels) : product(of), kernel(of, std::move(kernels)) {
      implementation.executor = "gemm";
      implementation.fusion = &kernel;
    }
    const GemmOp product;
    const GemmKernel kernel;
    Implementation implementation;
  };

  ImplementationRef get(const GemmOp& product, codegen::CompiledGemm kernels) {
    for (const std::weak_ptr<const Entry>& known : entries_)
      if (const std::shared_ptr<const Entry> entry = known.lock(); entry && entry->product == product)
        return std::shared_ptr<const Implementation>(entry, &entry->implementation);
    const auto entry = std::make_shared<const Entry>(product, std::move(kernels));
    entries_.push_back(entry);
    return std::shared_ptr<const Implementation>(entry, &entry->implementation);
  }

  std::mutex mutex_;  // guards the member below
  std::vector<std::weak_ptr<const Entry>> entries_;
};

void GemmKernel::run(Arguments arguments, std::span<const Tensor> results) const {
  const Tensor left = has_rows(*arguments[0].tensor().impl()) ? arguments[0].tensor() : copied(arguments[0].tensor());
  const TensorImpl& right = *arguments[1].tensor().impl();
  GemmArguments call;
  call.left = rows_of(*left.impl());
  call.depth = left.impl()->sizes.back();
  const size_t dimension = gemm_.is_linear ? 0 : 1;
  const int64_t columns = right.sizes[dimension];
  call.right = {right.data(), columns, right.strides[dimension], right.strides[1 - dimension]};
  const codegen::GemmEpilogue& epilogue = gemm_.form.epilogue;
  ColumnMatrix matrices[codegen::max_gemm_matrices];
  std::optional<EpilogueMatrix> operands[codegen::max_gemm_matrices];
  size_t count = 0;
  for (const Tensor& result : results) matrices[count++] = {result.impl()->data(), columns};
  for (size_t k = 0; k < epilogue.operands.size(); ++k) {
    operands[k].emplace(arguments[2 + k].tensor(), epilogue.operands[k].is_row, columns);
    matrices[count++] = operands[k]->matrix();
  }
  call.matrices = {matrices, count};
  run_gemm(gemm_.form, kernels_, call);
}

std::string GemmKernel::scalar_text(std::string_view name) const {
  return codegen::scalar_source(gemm_.form, kernels_.unit, std::string(name)).text("extern \"C\"");
}

std::string GemmKernel::ir_text() const { return codegen::gemm_ir_text(gemm_.form, kernels_.unit); }

// An element is read right before it is written; left and right operands are read throughout.
void GemmKernel::accept(FusedKernelVisitor& visitor) const { visitor.visit(*this); }

bool GemmKernel::may_overwrite(size_t, size_t argument) const {
  return argument >= 2 && !gemm_.form.epilogue.operands[argument - 2].is_row;
}

std::vector<ImplementationRef> gemm_implementations(std::span<const GemmOp> products) {
  return context().gemm_kernels.get().get(products);
}

}  // namespace fulgurite::fused_gemm
