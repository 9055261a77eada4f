#pragma once
#include <map>
#include <string>
#include <vector>

#include <fulgurite/autograd_function.h>

#include "ops/core/rules.h"

namespace fulgurite {

/// The state of a custom function's call between its forward and its backward: a node in eager mode, the recording
/// inside a trace.
struct FunctionState {
  FunctionState(detail::CustomFunction custom, const std::vector<Tensor>& inputs, SourceLocation called_at);
  virtual ~FunctionState() = default;
  FunctionState(const FunctionState&) = delete;
  FunctionState& operator=(const FunctionState&) = delete;

  /// The saved tensors as backward() sees them.
  virtual std::vector<Tensor> saved_tensors() const = 0;

  /// Throws if the forward's results cannot have a history. `inputs` are those of the forward.
  void check_results(const std::vector<Tensor>& inputs, const std::vector<Tensor>& results) const;
  /// Runs the user's backward, with zeros for undefined gradients if so set; returns one gradient for each argument, of
  /// its sizes and dtype.
  std::vector<Tensor> run_backward(std::vector<Tensor> gradients);
  bool is_dirty(const Tensor&) const;
  bool is_constant(const Tensor&) const;

  detail::CustomFunction function;
  std::string node_name;  // "CubeBackward"
  SourceLocation at;
  autograd::Context context;
  std::vector<TensorType> inputs, outputs;  // outputs: set once the forward has run
  std::vector<char> is_tensor, needs_grad;  // by argument
  bool materializes = true;
  std::vector<Tensor> to_save, dirty, constants;  // during the forward
  std::map<std::string, std::any> data;

 private:
  Tensor checked(Tensor gradient, size_t argument) const;
};

/// The type of a tensor; the default for an undefined one.
TensorType type_of(const Tensor&);
bool contains(const std::vector<Tensor>& tensors, const Tensor& tensor);

/// A call inside a recording; see tracing/custom_function.h.
std::vector<Tensor> record_custom_function(detail::CustomFunction, const std::vector<Tensor>& inputs,
                                           const detail::CustomCall::Forward&, SourceLocation at);

}  // namespace fulgurite
