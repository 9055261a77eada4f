#include <algorithm>

#include <fulgurite/symbol.h>

#include "examine/fusions/find_fusion.h"
#include "ir/analysis/trace_values.h"
#include "ir/custom_function.h"
#include "ops/structural/structural.h"

namespace fulgurite::examine {

namespace {

int64_t elements(const TensorProxy& proxy) {
  int64_t count = 1;
  for (const Int size : proxy.shape) count *= size.hint();
  return count;
}

int64_t max_argument_elements(const BoundSymbol& bound) {
  int64_t most = 0;
  for_each_argument(bound, [&](const Value& value) {
    if (value.is_tensor()) most = std::max(most, elements(value.tensor()));
  });
  return most;
}

int64_t last_size(const Value& value) {
  const SharedShape& shape = value.tensor().shape;
  return shape.empty() ? 1 : shape.back().hint();
}

// The number of products summed into each element of a convolution's result: the weight's elements for one channel.
int64_t gemms_of_convolution(const Value& weight) {
  const TensorProxy& proxy = weight.tensor();
  return proxy.shape.empty() || proxy.shape[0].hint() == 0 ? 1 : elements(proxy) / proxy.shape[0].hint();
}

}  // namespace

int64_t operation_count(const BoundSymbol& bound) {
  const Traits& traits = bound.symbol->traits;
  if (traits.structural || traits.view) return 0;
  if (!bound.subsymbols.empty()) {
    int64_t count = 0;
    for (const BoundSymbol& op : forward_lines(bound)) count += operation_count(op);
    return count;
  }
  int64_t results = 0;
  bool is_floating_work = false;
  for_each_output(bound, [&](const Value& value) {
    if (!value.is_tensor()) return;
    results += elements(value.tensor());
    is_floating_work = is_floating_work || is_floating(value.tensor().dtype);
  });
  if (!is_floating_work || is_write(bound)) return 0;
  // Two operations for each summed element.
  const std::string_view name = bound.symbol->qualified_name();
  if (name == "torch.matmul" || name == "torch.nn.functional.linear")
    return 2 * results * last_size(bound.args.read()[0]);
  if (name == "prims.convolution") {
    const bool transposed = bound.args.read()[6].boolean().hint();
    return 2 * (transposed ? elements(bound.args.read()[0].tensor()) : results) *
           gemms_of_convolution(bound.args.read()[1]);
  }
  if (name == "prims.convolution_weight")
    return 2 * elements(bound.args.read()[0].tensor()) * gemms_of_convolution(bound.outputs.read()[0]);
  return traits.reduction ? max_argument_elements(bound) : results;
}

int64_t distinct_elements(const FusionInput& input) {
  int64_t count = 1;
  for (size_t d = 0; d < input.shape.size(); ++d)
    if (input.strides[d].hint() != 0 || input.shape[d].hint() == 0) count *= input.shape[d].hint();
  return count;
}

}  // namespace fulgurite::examine
