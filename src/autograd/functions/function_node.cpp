#include "autograd/functions/function_node.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "autograd/eager/in_place.h"
#include "ops/core/dispatch.h"
#include "tensor/function_view.h"

namespace fulgurite {

namespace {

// The source of gradients of a once-differentiable function.
class OnceNode final : public Node {
 public:
  explicit OnceNode(std::string function) : function_(std::move(function)) {}
  std::string name() const override { return "NotDifferentiableBackward"; }
  size_t output_count() const override { return 1; }
  bool is_custom() const override { return true; }
  std::vector<Tensor> apply(std::vector<Tensor>, const NodeRun&) override {
    throw UserError(text::cat("a second derivative of ", function_, ", which is marked once_differentiable"));
  }

 private:
  std::string function_;
};

// The tensor whose memory a result of forward() shares; null if the result is a tensor of its own.
TensorImplRef memory_viewed(const std::vector<Tensor>& given, const Tensor& result) {
  if (result.impl()->base) return result.impl()->base;
  return contains(given, result) ? result.impl() : TensorImplRef();
}

}  // namespace

FunctionNode::FunctionNode(detail::CustomFunction custom, const std::vector<Tensor>& given, SourceLocation called_at)
    : FunctionState(std::move(custom), given, called_at) {
  set_source(called_at);
  add_to_hash(std::hash<std::string>()(node_name));
  for (const TensorType& type : this->inputs) add_to_hash(static_cast<uint64_t>(type.dtype) << 8 | type.shape.size());
  reserve_edges(given.size());
  for (const Tensor& input : given) {
    add_edge(grad_enabled() ? gradient_edge(input) : Edge());
    needs_grad.push_back(next_edges().back().node != nullptr);
  }
}

void FunctionNode::release_saved() {
  is_released_ = is_released_ || !saved_.empty();
  saved_.clear();
}

std::vector<Tensor> FunctionNode::saved_tensors() const {
  if (!is_finished_) return to_save;
  if (is_released_) throw_already_freed(node_name);
  std::vector<Tensor> tensors;
  for (const SavedTensor& saved : saved_)
    tensors.push_back(grad_enabled() ? saved.with_history(const_cast<FunctionNode&>(*this))
                                     : saved.elements(node_name));
  return tensors;
}

void FunctionNode::finish(const std::vector<Tensor>& given, std::vector<Tensor>& results) {
  check_results(given, results);
  for (const Tensor& result : results) outputs.push_back(type_of(result));
  if (std::ranges::any_of(needs_grad, [](char needs) { return needs != 0; })) give_history(given, results);
  is_finished_ = true;
  to_save.clear();
  dirty.clear();
  constants.clear();
}

void FunctionNode::give_history(const std::vector<Tensor>& given, std::vector<Tensor>& results) {
  for (const Tensor& tensor : dirty)
    if (tensor.requires_grad() && node_of(tensor) == nullptr)
      throw UserError(
          text::cat(function.name, ": forward() wrote ", type_text(tensor), ", a leaf that requires grad; pass a copy"),
          source());
  for (const Tensor& tensor : to_save) {
    const auto is_tensor = [&](const Tensor& t) { return t.defined() && tensor.defined() && t.is_same(tensor); };
    const auto input = std::find_if(given.begin(), given.end(), is_tensor);
    const auto output = std::find_if(results.begin(), results.end(), is_tensor);
    if (input != given.end() && !is_dirty(tensor))
      saved_.emplace_back(tensor, SavedTensor::Origin::input, static_cast<size_t>(input - given.begin()));
    else if (output != results.end())
      saved_.emplace_back(tensor, SavedTensor::Origin::output, static_cast<size_t>(output - results.begin()));
    else saved_.emplace_back(tensor, SavedTensor::Origin::inside, 0);
  }
  const std::shared_ptr<Node> self = shared_from_this();
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor& result = results[i];
    if (is_constant(result)) {
      if (contains(given, result) && !is_dirty(result)) result = without_history(result);
      continue;
    }
    if (is_dirty(result)) {
      const Tensor written = without_history(result);
      set_history(written, self, static_cast<int>(i));
      take_history(written, result);
      continue;
    }
    const TensorImplRef viewed = memory_viewed(given, result);
    // An argument that is returned unchanged becomes another tensor with the same elements.
    if (contains(given, result) || result.requires_grad()) result = without_history(result);
    set_history(result, self, static_cast<int>(i));
    if (viewed) mark_function_view(*result.impl(), viewed);
  }
}

std::vector<Tensor> FunctionNode::apply(std::vector<Tensor> gradients, const NodeRun& run) {
  std::vector<Tensor> results;
  {
    const GradModeScope grad_mode(run.create_graph && !function.once_differentiable);
    results = run_backward(std::move(gradients));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!needs_grad[i] || !results[i].defined() || !run.create_graph || !function.once_differentiable) continue;
    results[i] = without_history(results[i]);
    set_history(results[i], std::make_shared<OnceNode>(std::string(function.name)), 0);
  }
  return results;
}

}  // namespace fulgurite
