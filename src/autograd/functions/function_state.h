#pragma once
#include <map>
#include <string>
#include <vector>

#include <fulgurite/autograd_function.h>

#include "ops/core/rules.h"

namespace fulgurite {

/// What a call of a custom function holds between its forward and its backward: a node in eager mode, the recording inside a trace.
struct FunctionState {
  FunctionState(detail::CustomFunction custom, const std::vector<Tensor>& inputs, SourceLocation called_at);
  virtual ~FunctionState() = default;
  FunctionState(const FunctionState&) = delete;
  FunctionState& operator=(const FunctionState&) = delete;

  /// What backward() sees of what was saved.
  virtual std::vector<Tensor> saved_tensors() const = 0;

  /// Whether the forward's results are such that they can have a history. `inputs` are what the forward was called with.
  void check_results(const std::vector<Tensor>& inputs, const std::vector<Tensor>& results) const;
  /// Runs the user's backward, with zeros for undefined gradients if so wished; gives one gradient for each argument, of its sizes and dtype.
  std::vector<Tensor> run_backward(std::vector<Tensor> gradients);
  bool is_dirty(const Tensor&) const;
  bool is_constant(const Tensor&) const;

  detail::CustomFunction function;
  std::string node_name;  // "CubeBackward"
  SourceLocation at;
  autograd::Context context;
  std::vector<TensorType> inputs, outputs;    // outputs: once the forward has run
  std::vector<char> is_tensor, needs_grad;    // by argument
  bool materializes = true;
  std::vector<Tensor> to_save, dirty, constants;  // during the forward
  std::map<std::string, std::any> data;

 private:
  Tensor checked(Tensor gradient, size_t argument) const;
};

/// The type of a tensor; of an undefined one the default.
TensorType type_of(const Tensor&);
bool contains(const std::vector<Tensor>& tensors, const Tensor& tensor);

/// A call inside a recording; see tracing/custom_function.h for what becomes of it.
std::vector<Tensor> record_custom_function(detail::CustomFunction, const std::vector<Tensor>& inputs, const detail::CustomCall::Forward&,
                                           SourceLocation at);

}  // namespace fulgurite
