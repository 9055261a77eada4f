#pragma once
#include <string>
#include <vector>

#include "support/cases/operator_cases.h"

namespace fulgurite::test {

// The same elements elsewhere in memory.

/// The last dimension outermost.
Tensor transposed_copy(const Tensor&);
/// Every second element of a larger tensor in every dimension, from the second on.
Tensor spaced_copy(const Tensor&);

// Other elements.

/// Dimension `dim` holds its first entry again and again, as a view without memory for it; where it has more than one.
Tensor expanded(const Tensor&, int64_t dim);
/// The first element as a tensor without dimensions.
Tensor first_element(const Tensor&);
/// The last elements replaced by NaN, both infinities, both zeros and this number of both signs.
Tensor with_specials(const Tensor&, double large);
/// Laid out until each dimension of this size is `times` as large.
Tensor enlarged(const Tensor&, int64_t size, int64_t times);
/// Without elements: the dimensions of this size are 0.
Tensor emptied(const Tensor&, int64_t size);

/// The case's inputs without gradients, where they are floating in this dtype.
std::vector<Tensor> plain_inputs(const OperatorCase&, Dtype);
/// The sizes above 1 among the tensors, each once.
std::vector<int64_t> distinct_sizes(const std::vector<Tensor>&);
template <class Change>
std::vector<Tensor> changed(const std::vector<Tensor>& tensors, Change change) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(change(t));
  return out;
}

/// The answer of an operator: its results, or its error.
struct Answer {
  std::vector<Tensor> results;
  std::string error;
};
/// Runs without gradients. Anything thrown but a UserError is a failure of the test.
Answer answer_of(const OperatorCase&, const std::vector<Tensor>& inputs);

/// "" where two lists are alike to the bit (any NaN is like another), or to `tolerance` relative to each tensor's
/// largest number, else the first difference.
std::string difference(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, double tolerance = 0);

}  // namespace fulgurite::test
