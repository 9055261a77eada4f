#pragma once
#include <string>
#include <vector>

#include "support/programs/write_steps.h"

namespace fulgurite::test {

/// A program of views, writes in place and a few operators, as data: other languages run it too.
///
/// Its arguments are values 0 to 3: two leaves, which are never written, a buffer, and another buffer that may share
/// the first one's memory. Its results are those of `results`, each times 1, and the sums of all leaves.
struct WriteProgram {
  Shape shape;
  std::string sharing;  // of the second buffer: "none", "same", "row", "rows", "column", "transposed"
  std::vector<WriteStep> steps;
  std::vector<int> results;

  /// Fresh arguments: the leaves require gradients where `with_gradients`.
  std::vector<Tensor> arguments(bool with_gradients) const;
  /// With `breaks`, a graph break follows every step whose position they name.
  std::vector<Tensor> run(const std::vector<Tensor>& arguments, const std::vector<int>& breaks = {}) const;
  /// The loss that is differentiated.
  static Tensor loss(const std::vector<Tensor>& results);
  std::string json() const;
};

WriteProgram draw_write_program(unsigned seed);

}  // namespace fulgurite::test
