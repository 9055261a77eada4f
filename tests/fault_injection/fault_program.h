#pragma once
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

/// A random chain of operators with steps where an input can cause a NaN: the same operators for the same seed.
class FaultProgram {
 public:
  using Function = std::function<Tensor(std::vector<Tensor>)>;

  explicit FaultProgram(unsigned seed);
  /// inputs() in order.
  Tensor operator()(const std::vector<Tensor>& inputs) const;
  Function function() const {
    return [program = *this](std::vector<Tensor> inputs) { return program(inputs); };
  }
  /// x, a matrix, one tensor for each NaN source; x, the matrix and those under a root require gradients. All valid.
  std::vector<Tensor> inputs() const;

  /// Sources of a NaN: log(-1), 0/0, inf - inf, and the gradient of a root at 0.
  enum class Spot { logarithm, quotient, difference, root };
  const std::vector<Spot>& places() const { return places_; }
  static constexpr size_t first_place = 2;  // among the inputs

 private:
  struct Step {
    unsigned kind;
    size_t place;  // of those that have one
  };
  std::vector<Step> steps_;
  std::vector<Spot> places_;
  unsigned seed_;
};

/// True if a fault was located where it was injected; `report` is the text of the report.
struct Located {
  bool is_located = false;
  std::string planted, report;
};
/// Faults of each kind. Mutations that change no result are not faults, and others are drawn in their place.
Located plant_in_kernel_text(unsigned seed);      // a statement of a generated kernel is another one
Located plant_in_fusion_executor(unsigned seed);  // a user's fusing executor runs one line wrong
Located plant_in_operator(unsigned seed);         // a user's implementation of an operator is wrong
Located plant_nan(unsigned seed);                 // an input makes a NaN inside a fusion, forward or backward
Located plant_in_pass(unsigned seed);             // a user's pass spoils a line

/// The message of the error that `run` throws, or "".
std::string error_of(const std::function<void()>& run);
/// Result and gradients of a function on a program's inputs.
std::vector<Tensor> results_of(const std::function<Tensor(std::vector<Tensor>)>& function, const FaultProgram&);
bool are_close(const std::vector<Tensor>&, const std::vector<Tensor>&);

}  // namespace fulgurite::test
