#pragma once
#include <string>
#include <vector>

#include "support/programs/write_steps.h"

namespace fulgurite::test {

/// A function whose results may be views of its arguments and of each other, and what is done with arguments and
/// results after the call, as data: other languages run it too.
///
/// The function's arguments are values 0 to 3: a leaf, which is never written, two tensors computed from leaves, and a
/// buffer without a history, each of which may share the memory of the one before. After the call the values are the
/// arguments, the results, and what the steps make.
struct ResultProgram {
  Shape shape;
  std::string sharing;  // of argument 2 with argument 1: "none", "row", "rows", "transposed"
  std::vector<WriteStep> inside, after;
  std::vector<int> results;

  /// The leaves, of which the arguments are made.
  std::vector<Tensor> leaves(bool with_gradients) const;
  std::vector<Tensor> arguments(const std::vector<Tensor>& leaves) const;
  /// With `breaks`, a graph break follows every step whose position they name.
  std::vector<Tensor> run(const std::vector<Tensor>& arguments, const std::vector<int>& breaks = {}) const;
  /// Runs the steps after the call; returns all values at the end.
  std::vector<Tensor> go_on(std::vector<Tensor> arguments, const std::vector<Tensor>& results) const;
  /// The loss that is differentiated.
  static Tensor loss(const std::vector<Tensor>& values);
  std::string json() const;
};

ResultProgram draw_result_program(unsigned seed);

}  // namespace fulgurite::test
