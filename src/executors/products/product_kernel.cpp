#include "executors/products/product_kernel.h"

#include <memory>
#include <mutex>

#include "executors/eager/copy.h"
#include "executors/products/run_product.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::products {

namespace {

Tensor copied(const Tensor& tensor) {
  const Tensor copy = make_tensor(tensor.impl()->sizes, tensor.impl()->dtype);
  copy_elements(tensor, copy);
  return copy;
}

// Whether all dimensions but the last are steps of one size through the memory.
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

// All dimensions but the last as rows.
DepthMatrix rows_of(const TensorImpl& tensor) {
  const size_t last = tensor.sizes.size() - 1;
  DepthMatrix rows{tensor.data(), 1, 0, tensor.strides[last]};
  for (size_t d = last; d-- > 0;) {
    if (rows.rows == 1) rows.row_stride = tensor.strides[d];
    rows.rows *= tensor.sizes[d];
  }
  return rows;
}

// Columns side by side, of a bias that has them elsewhere or one number for all.
Tensor expanded(const Tensor& given, int64_t columns) {
  const Tensor copy = make_tensor({columns}, given.impl()->dtype);
  copy_elements(given, copy);
  return copy;
}

/// For as long as the process lives, because traces do not own what they refer to.
class Implementations {
 public:
  std::vector<const Implementation*> get(std::span<const Product> products) {
    std::vector<codegen::ProductForm> forms;
    for (const Product& product : products) forms.push_back(product.form);
    std::vector<codegen::ProductKernels> kernels = codegen::compile_products(forms);
    std::vector<const Implementation*> out;
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kernels.size(); ++i) out.push_back(get(products[i], std::move(kernels[i])));
    return out;
  }

 private:
  struct Entry {
    Entry(const Product& of, codegen::ProductKernels kernels) : product(of), kernel(of, std::move(kernels)) {
      implementation.executor = "products";
      implementation.fusion = &kernel;
    }
    const Product product;
    const ProductKernel kernel;
    Implementation implementation;
  };

  const Implementation* get(const Product& product, codegen::ProductKernels kernels) {
    for (const std::unique_ptr<Entry>& entry : entries_)
      if (entry->product == product) return &entry->implementation;
    return &entries_.emplace_back(std::make_unique<Entry>(product, std::move(kernels)))->implementation;
  }

  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace

void ProductKernel::run(Arguments arguments, std::span<const Tensor> results) const {
  const Tensor left = has_rows(*arguments[0].tensor().impl()) ? arguments[0].tensor() : copied(arguments[0].tensor());
  const TensorImpl& right = *arguments[1].tensor().impl();
  ProductCall call;
  call.left = rows_of(*left.impl());
  call.depth = left.impl()->sizes.back();
  const size_t columns = product_.is_linear ? 0 : 1;
  call.right = {right.data(), right.sizes[columns], right.strides[columns], right.strides[1 - columns]};
  call.result = {results[0].impl()->data(), right.sizes[columns]};
  Tensor bias;
  if (product_.form.bias) {
    const Tensor& given = arguments[2].tensor();
    bias = given.impl()->sizes[0] == right.sizes[columns] && given.impl()->strides[0] == 1 ? given : expanded(given, right.sizes[columns]);
    call.bias = {bias.impl()->data(), 0};
  }
  run_product(product_.form, kernels_, call);
}

std::vector<const Implementation*> product_implementations(std::span<const Product> products) {
  static Implementations* const all = new Implementations;
  return all->get(products);
}

}  // namespace fulgurite::products
