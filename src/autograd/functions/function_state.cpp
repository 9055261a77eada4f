#include "autograd/functions/function_state.h"

#include <algorithm>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

namespace fulgurite {

namespace {

bool same_size(Int a, Int b) { return a.hint() == b.hint(); }
bool same_shape(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_size);
}

/// Returns true if the smaller shape can be expanded to the larger one.
bool is_expandable(const Shape& smaller, const Shape& larger) {
  if (smaller.size() > larger.size()) return false;
  const size_t more = larger.size() - smaller.size();
  for (size_t d = 0; d < smaller.size(); ++d)
    if (smaller[d].hint() != 1 && !same_size(smaller[d], larger[more + d])) return false;
  return true;
}

}  // namespace

TensorType type_of(const Tensor& tensor) {
  return tensor.defined() ? TensorType{tensor.shape(), tensor.dtype(), tensor.device()} : TensorType();
}

bool contains(const std::vector<Tensor>& tensors, const Tensor& tensor) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.is_same(tensor); });
}

FunctionState::FunctionState(detail::CustomFunction custom, const std::vector<Tensor>& given, SourceLocation called_at)
    : function(std::move(custom)), node_name(std::string(function.name) + "Backward"), at(called_at), context(*this) {
  for (const Tensor& input : given) {
    inputs.push_back(type_of(input));
    is_tensor.push_back(input.defined());
  }
}

bool FunctionState::is_dirty(const Tensor& tensor) const { return contains(dirty, tensor); }
bool FunctionState::is_constant(const Tensor& tensor) const {
  return contains(constants, tensor) || !is_floating(tensor.dtype());
}

void FunctionState::check_results(const std::vector<Tensor>& given, const std::vector<Tensor>& results) const {
  for (const Tensor& result : results)
    if (!result.defined()) throw UserError(text::cat(function.name, ": forward() returned an undefined tensor"), at);
  for (const Tensor& tensor : dirty) {
    if (!contains(given, tensor))
      throw UserError(text::cat(function.name, ": mark_dirty() of ", type_text(tensor), ", which is not an argument"),
                      at);
    if (!contains(results, tensor))
      throw UserError(text::cat(function.name, ": an argument that forward() wrote, ", type_text(tensor),
                                ", must be among what it returns"),
                      at);
  }
}

Tensor FunctionState::checked(Tensor gradient, size_t argument) const {
  if (!gradient.defined()) return gradient;
  if (!is_tensor[argument])
    throw UserError(text::cat(node_name, " gave a gradient for argument ", argument, ", which is not a tensor"), at);
  const TensorType& expected = inputs[argument];
  const Shape shape = gradient.shape();
  if (!same_shape(shape, expected.shape)) {
    if (!is_expandable(expected.shape, shape))
      throw UserError(text::cat(node_name, " gave ", type_text(gradient), " for the gradient of argument ", argument,
                                ", whose sizes are ", expected.shape),
                      at);
    std::vector<int64_t> dims;
    const size_t more = shape.size() - expected.shape.size();
    for (size_t d = 0; d < shape.size(); ++d)
      if (d < more || (expected.shape[d - more].hint() == 1 && shape[d].hint() != 1))
        dims.push_back(static_cast<int64_t>(d));
    gradient = sum(gradient, dims, true);
    gradient = reshape(gradient, expected.shape);
  }
  return gradient.dtype() == expected.dtype ? gradient : gradient.to(expected.dtype);
}

std::vector<Tensor> FunctionState::run_backward(std::vector<Tensor> gradients) {
  if (!function.backward)
    throw UserError(text::cat(function.name, " has no backward(): give it one, or call it under NoGrad"), at);
  if (materializes)
    for (size_t i = 0; i < gradients.size(); ++i)
      if (!gradients[i].defined())
        gradients[i] = zeros(outputs[i].shape, {.dtype = outputs[i].dtype, .device = outputs[i].device});
  std::vector<Tensor> results = function.backward(context, gradients);
  const size_t count = inputs.size();
  for (size_t i = 0; i < std::max(count, results.size()); ++i) {
    const bool is_missing = i >= results.size() && needs_grad[i], is_extra = i >= count && results[i].defined();
    if (is_missing || is_extra)
      throw UserError(text::cat(node_name, " gave ", results.size(), " gradients for ", count, " arguments"), at);
  }
  results.resize(count);
  for (size_t i = 0; i < count; ++i) results[i] = checked(std::move(results[i]), i);
  return results;
}

namespace autograd {

void Context::save_for_backward(const TensorList& tensors) { state_->to_save = tensors.tensors(); }
std::vector<Tensor> Context::saved_tensors() const { return state_->saved_tensors(); }
std::map<std::string, std::any>& Context::saved_data() const { return state_->data; }
void Context::mark_dirty(const TensorList& tensors) { state_->dirty = tensors.tensors(); }
void Context::mark_non_differentiable(const TensorList& tensors) { state_->constants = tensors.tensors(); }
void Context::set_materialize_grads(bool value) { state_->materializes = value; }
bool Context::needs_input_grad(size_t argument) const {
  return argument < state_->needs_grad.size() && state_->needs_grad[argument];
}

}  // namespace autograd

}  // namespace fulgurite
