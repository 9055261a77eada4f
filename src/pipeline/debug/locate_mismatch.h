#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// The op of a fusion that computes a wrong result.
struct Mismatch {
  size_t op = 0;       // among the fusion's
  Value value;         // the value whose elements differ
  std::string detail;  // the text that `difference` returned for it
};
/// Describes the mismatch of `actual`; empty if there is none.
using TensorDifference = std::function<std::string(const Tensor& actual, const Tensor& expected)>;
/// Finds the smallest prefix of a fusion's ops that, compiled by `executors` with the values read after it as results,
/// differs from `reference`: the mismatch is its last op, or one that it reads if that is wrong already. nullopt if all
/// of them agree. `inputs` are the fusion's inputs, in the order of slice_of_op.
std::optional<Mismatch> locate_mismatch(const Trace&, const BoundSymbol& fusion, const std::vector<Tensor>& inputs,
                                        const std::vector<std::string>& executors,
                                        const std::vector<std::string>& reference, const TensorDifference& difference);

}  // namespace fulgurite
