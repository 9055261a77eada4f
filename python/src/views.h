#pragma once
#include "arguments.h"

namespace fulgurite_python {

/// A result in the memory of another tensor: of an argument or a member, or, behind these, of a result.
struct ViewResult {
  size_t result, base;
};

/// The results that PyTorch must see as views of other tensors: without that, a write into one would not reach the
/// other's history. The base is not a view itself, and results that are an argument themselves are left out.
/// `carries_gradient`: for each result; none where no result does. A base without a gradient is not given to
/// results that carry one.
std::vector<ViewResult> views_among(const std::vector<Value>& results, const Arguments& given,
                                    const std::vector<char>& carries_gradient = {},
                                    const std::vector<bool>& needs_gradient = {});

/// The elements of `view`, which are in the memory of `base`, as a view without a gradient of the tensor of PyTorch
/// that `base` is.
nb::object as_view(nb::handle object, const Tensor& base, const Tensor& view);

}  // namespace fulgurite_python
