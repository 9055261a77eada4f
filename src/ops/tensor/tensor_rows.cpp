// Loops over the rows of a tensor.
#include <fulgurite/data_dependent.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

int64_t row_count(const Tensor& tensor) {
  if (!tensor.defined()) throw UserError("a loop over an undefined tensor");
  if (tensor.ndim() == 0)
    throw UserError(text::cat("a loop over ", type_text(tensor),
                              ": a tensor without dimensions has no rows; item<T>() gives its value"));
  return tensor.size(0);
}

}  // namespace

RowIterator begin(const Tensor& tensor) {
  row_count(tensor);
  return {tensor, 0};
}
RowIterator end(const Tensor& tensor) { return {tensor, row_count(tensor)}; }

Tensor RowIterator::operator*() const { return select(tensor_, 0, row_); }

}  // namespace fulgurite
