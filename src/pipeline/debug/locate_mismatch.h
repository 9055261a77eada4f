#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// The line of a fusion that goes wrong.
struct Mismatch {
  size_t op = 0;     // among the fusion's
  Value value;         // whose elements differ
  std::string detail;  // what `difference` said of it
};
/// What is wrong with `actual`; empty where nothing is.
using TensorDifference = std::function<std::string(const Tensor& actual, const Tensor& expected)>;
/// The fewest of a fusion's lines that, compiled by `executors` with what is read after them as results, give something else than `reference`
/// does: the last of them is it, or one that it reads where that is wrong already. None where all of them agree. `inputs` are what the fusion
/// takes, in the order of slice_of_op.
std::optional<Mismatch> locate_mismatch(const Trace&, const BoundSymbol& fusion, const std::vector<Tensor>& inputs,
                                         const std::vector<std::string>& executors, const std::vector<std::string>& reference,
                                         const TensorDifference& difference);

}  // namespace fulgurite
