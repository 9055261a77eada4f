#include "ops/linalg/operation_counts.h"

#include "ir/analysis/sizes.h"

namespace fulgurite {

namespace {

// The number of products summed into each element of a convolution's result: the weight's elements for one channel.
int64_t products_of_convolution(const Value& weight) {
  const SharedShape& shape = weight.tensor().shape;
  return shape.empty() || shape[0].hint() == 0 ? 1 : element_count(weight) / shape[0].hint();
}

}  // namespace

int64_t count_matmul(const BoundSymbol& bound) {
  const SharedShape& left = bound.args.read()[0].tensor().shape;
  return 2 * element_count(bound.outputs.read()[0]) * (left.empty() ? 1 : left.back().hint());
}

int64_t count_convolution(const BoundSymbol& bound) {
  const bool is_transposed = bound.args.read()[6].boolean().hint();
  const Value& spread = is_transposed ? bound.args.read()[0] : bound.outputs.read()[0];
  return 2 * element_count(spread) * products_of_convolution(bound.args.read()[1]);
}

int64_t count_convolution_weight(const BoundSymbol& bound) {
  return 2 * element_count(bound.args.read()[0]) * products_of_convolution(bound.outputs.read()[0]);
}

}  // namespace fulgurite
