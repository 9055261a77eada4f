#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fulgurite/fulgurite.h>
#include <fulgurite/symbol.h>

namespace fulgurite::test {

/// One call of an operator, in f64, for tests that want every operator: gradcheck, symbolic sizes, PyTorch.
struct OperatorCase {
  using Keywords = std::vector<std::pair<std::string, Arg>>;

  OperatorCase(std::string op, std::vector<Arg> args, Keywords kwargs = {});
  /// For a memory layout that the operator refuses by design (view).
  OperatorCase contiguous() && { return contiguous_only = true, std::move(*this); }
  /// For a case at a point without a derivative, or whose gradient is by definition not that of its values: the
  /// gradients that PyTorch computes for the inputs that require one, for ones.
  OperatorCase with_gradients(std::vector<std::vector<double>> gradients) && {
    return known_gradients = std::move(gradients), std::move(*this);
  }
  /// For a case whose values or gradients PyTorch does not define.
  OperatorCase without_pytorch() && { return no_pytorch = true, std::move(*this); }
  /// For a case whose gradient's trace can be changed without consequences: signs of eigenvectors, of a small shift.
  OperatorCase without_mutants() && { return no_mutants = true, std::move(*this); }

  std::string name;  // "torch.sum #2"
  const Symbol* symbol = nullptr;
  std::vector<Value> args;
  std::map<std::string, Value> kwargs;
  bool contiguous_only = false, no_pytorch = false, no_mutants = false;
  std::vector<std::vector<double>> known_gradients;  // empty: differences tell

  /// The tensors among the arguments, in order; those with requires_grad are differentiated.
  std::vector<Tensor> inputs() const;
  /// The call on other tensors; lists of results flattened. Each run draws from a seed of its own.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  /// True if any gradient flows.
  bool is_differentiable() const;
};

/// The seed that every random case starts from.
inline constexpr uint64_t case_seed = 7;

/// The cases of all operators, numbered for each operator.
const std::vector<OperatorCase>& operator_cases();
/// The cases that a suite over all operators runs: all, or with TEST_CASE_SHARE=K/N in the environment every N-th
/// one, beginning with number K. Sanitized builds, which are ten times as slow, run another share at each commit.
const std::vector<OperatorCase>& chosen_cases();
/// Returns true if chosen_cases() are all: what is expected of all of them together can be checked.
bool runs_all_cases();
/// Returns true if an operator must have a case: not a structural symbol of traces, nor a side effect.
bool needs_case(const Symbol&);

// The parts of the table, by file.
void add_pointwise_cases(std::vector<OperatorCase>&);
void add_reduction_cases(std::vector<OperatorCase>&);
void add_shape_cases(std::vector<OperatorCase>&);
void add_indexing_cases(std::vector<OperatorCase>&);
void add_neural_cases(std::vector<OperatorCase>&);
void add_window_cases(std::vector<OperatorCase>&);
void add_creation_cases(std::vector<OperatorCase>&);
void add_composition_cases(std::vector<OperatorCase>&);
void add_ordering_cases(std::vector<OperatorCase>&);
void add_linalg_cases(std::vector<OperatorCase>&);
void add_kink_cases(std::vector<OperatorCase>&);
void add_composition_kink_cases(std::vector<OperatorCase>&);

// Arguments. Numbers are pseudo-random and different for every tensor of a case; cases do not depend on one another.

/// An f64 tensor that requires grad, of numbers between low and high.
Tensor floats(std::vector<int64_t> sizes, double low = -2, double high = 2);
/// The same without a gradient.
Tensor constants(std::vector<int64_t> sizes, double low = -2, double high = 2);
Tensor integers(std::vector<int64_t> sizes, std::vector<int64_t> values);
/// True and false by turns, with no regular period.
Tensor booleans(std::vector<int64_t> sizes);

}  // namespace fulgurite::test
