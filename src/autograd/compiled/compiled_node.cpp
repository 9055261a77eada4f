#include "autograd/compiled/compiled_node.h"

#include <algorithm>
#include <functional>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/compiled/traced_node.h"
#include "autograd/eager/second_order.h"
#include "autograd/engine/saved_tensor.h"
#include "autograd/engine/tensor_autograd.h"
#include "ir/analysis/trace_values.h"
#include "tensor/same_memory.h"
#include "tracing/evaluate.h"
#include "tracing/symbolic_replay.h"

namespace fulgurite {

namespace {

/// Finds the saved tensors that are inputs or outputs of the call.
class Origins {
 public:
  Origins(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    known_.reserve(inputs.size() + outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) add(inputs[i], SavedTensor::Origin::input, i);
    for (size_t i = 0; i < outputs.size(); ++i) add(outputs[i], SavedTensor::Origin::output, i);
    std::sort(known_.begin(), known_.end(),
              [](const Known& a, const Known& b) { return std::less<>()(a.storage, b.storage); });
  }
  SavedTensor saved(const Tensor& tensor) const {
    if (!tensor.defined()) return {};
    const Storage* storage = tensor.impl()->storage.get();
    auto at = std::lower_bound(known_.begin(), known_.end(), storage,
                               [](const Known& k, const Storage* s) { return std::less<>()(k.storage, s); });
    for (; at != known_.end() && at->storage == storage; ++at)
      if (is_same_memory(*at->tensor, tensor)) return {tensor, at->origin, at->index};
    return {tensor, SavedTensor::Origin::inside, 0};
  }

 private:
  struct Known {
    const Storage* storage;
    const Tensor* tensor;
    SavedTensor::Origin origin;
    size_t index;
  };
  void add(const Tensor& tensor, SavedTensor::Origin origin, size_t index) {
    if (tensor.defined()) known_.push_back({tensor.impl()->storage.get(), &tensor, origin, index});
  }
  std::vector<Known> known_;
};

class CompiledNode final : public TracedNode {
 public:
  CompiledNode(std::span<const Tensor> inputs, const std::vector<Tensor>& outputs, std::span<const Tensor> saved,
               std::shared_ptr<const Program> backward, std::string name, std::shared_ptr<const Program> forward,
               std::shared_ptr<const SymbolicBackward> symbolic)
      : backward_(std::move(backward)),
        forward_(std::move(forward)),
        symbolic_(std::move(symbolic)),
        name_(std::move(name)) {
    add_to_hash(reinterpret_cast<uintptr_t>(backward_.get()));
    for (const Tensor& input : inputs) {
      if (input.defined() && input.impl()->base) bring_history_up_to_date(input);
      add_edge(gradient_edge(input));
    }
    for (const Tensor& output : outputs) {
      outputs_.push_back(output.defined() ? TensorType{output.shape(), output.dtype(), output.device()} : TensorType());
    }
    bool saves_inside = false;
    const Origins origins(inputs, outputs);
    for (const Tensor& tensor : saved) {
      saved_.push_back(origins.saved(tensor));
      saves_inside = saves_inside || saved_.back().is_floating_inside();
    }
    // For second derivatives, values made inside are recomputed from the inputs.
    if (!saves_inside || !forward_) return;
    const SavingForDerivatives saving;
    for (size_t i = 0; i < inputs.size(); ++i) inputs_.emplace_back(inputs[i], SavedTensor::Origin::input, i);
  }

  std::string name() const override { return name_; }
  size_t output_count() const override { return outputs_.size(); }

  void release_saved() override {
    is_released_ = !saved_.empty();
    saved_.clear();
    inputs_.clear();
  }

  void append_saved(std::vector<Tensor>& saved, bool create_graph) override {
    if (is_released_) throw_already_freed(name_);
    if (create_graph) return append_with_history(saved);
    for (const SavedTensor& one : saved_) saved.push_back(one.elements(name_));
  }
  std::vector<Tensor> record(std::span<const Tensor> saved, std::vector<Tensor> gradients, const NodeRun& run,
                             std::span<const Int> sizes) override {
    if (std::ranges::any_of(sizes, [](Int size) { return size.is_symbolic(); }))
      return record_with_symbols(saved, std::move(gradients), run, sizes);
    fill_gradients(gradients, [](const TensorType& type) {
      return zeros(type.shape, {.dtype = type.dtype, .device = type.device});
    });
    std::vector<Tensor> arguments(saved.begin(), saved.end());
    arguments.insert(arguments.end(), gradients.begin(), gradients.end());
    return run.create_graph ? evaluate_again(arguments) : evaluate(backward_->recordable(), arguments);
  }
  const void* formula() const override { return backward_.get(); }
  std::shared_ptr<const void> share_formula() const override {
    if (!symbolic_) return backward_;
    return std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(backward_,
                                                                                                 symbolic_->trace);
  }
  bool append_structure(KeyWords& words, std::vector<int64_t>& sizes) const override {
    if (!symbolic_) return TracedNode::append_structure(words, sizes);
    words.push_back(reinterpret_cast<uintptr_t>(symbolic_->trace.get()));
    sizes.insert(sizes.end(), symbolic_->sizes.begin(), symbolic_->sizes.end());
    return true;
  }
  const Trace* jitted_backward() const override {
    if (name_ != jitted_node_name) return nullptr;
    return symbolic_ ? symbolic_->trace.get() : &backward_->recordable();
  }

  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun& run) override {
    if (is_released_) throw_already_freed(name_);
    fill_gradients(gradients, make_zeros);
    std::vector<Tensor> arguments, results;
    if (run.create_graph) {
      append_with_history(arguments);
      arguments.insert(arguments.end(), gradients.begin(), gradients.end());
      return evaluate_again(arguments);
    }
    arguments.reserve(saved_.size() + gradients.size());
    for (const SavedTensor& saved : saved_) arguments.push_back(saved.elements(name_));
    for (Tensor& gradient : gradients) arguments.push_back(std::move(gradient));
    gradients.clear();
    backward_->run(arguments, results);
    return results;
  }

 private:
  // The program expects zeros for missing gradients, and undefined tensors for those that it does not read.
  template <class MakeZeros>
  void fill_gradients(std::vector<Tensor>& gradients, MakeZeros make_zeros_of) const {
    const std::vector<Value> expected = input_values(backward_->trace());
    if (expected.size() != saved_.size() + gradients.size())
      throw InternalError(
          text::cat(name_, " takes ", expected.size(), " inputs, got ", saved_.size() + gradients.size()));
    for (size_t i = 0; i < gradients.size(); ++i) {
      const bool is_read = !expected[saved_.size() + i].is_none();
      if (!is_read) gradients[i] = Tensor();
      else if (!gradients[i].defined()) gradients[i] = make_zeros_of(outputs_[i]);
    }
  }

  std::vector<Tensor> record_with_symbols(std::span<const Tensor> saved, std::vector<Tensor> gradients,
                                          const NodeRun& run, std::span<const Int> sizes) {
    if (!symbolic_ || run.create_graph) throw UserError(text::cat(name_, " is recorded for constant sizes"));
    std::vector<Value> expected = input_values(*symbolic_->trace);
    std::erase_if(expected, [](const Value& value) { return value.is_proxy() && !value.is_tensor(); });
    SymbolicReplay numbers(sizes);
    std::vector<Tensor> arguments(saved.begin(), saved.end());
    for (const Tensor& gradient : gradients) {
      const Value& input = expected.at(arguments.size());
      Tensor given = input.is_none() ? Tensor() : gradient;
      if (!input.is_none() && !given.defined()) {
        Shape shape = input.tensor().shape;
        for (Int& size : shape)
          if (size.is_symbolic()) size = numbers.integer(*size.proxy());
        given = zeros(shape, {.dtype = input.tensor().dtype, .device = input.tensor().device});
      }
      arguments.push_back(std::move(given));
    }
    std::vector<Tensor> results = evaluate(*symbolic_->trace, arguments, sizes), kept;
    if (results.size() != symbolic_->is_number.size()) return results;
    for (size_t i = 0; i < results.size(); ++i)
      if (!symbolic_->is_number[i]) kept.push_back(std::move(results[i]));
    return kept;
  }

  // Appends the arguments of the differentiable backward before the gradients: the call's inputs first, if values made
  // inside are needed.
  void append_with_history(std::vector<Tensor>& arguments) {
    if (inputs_.empty()) {
      for (const SavedTensor& saved : saved_) {
        if (saved.is_floating_inside())
          throw UserError(
              text::cat(name_, " cannot be differentiated a second time: it saved a value made inside the call"));
        arguments.push_back(saved.with_history(*this));
      }
      return;
    }
    for (const SavedTensor& input : inputs_) arguments.push_back(input.with_history(*this));
    for (const SavedTensor& saved : saved_) arguments.push_back(saved.elements(name_));
  }

  std::vector<Tensor> evaluate_again(const std::vector<Tensor>& arguments) {
    if (inputs_.empty()) return evaluate(backward_->recordable(), arguments);
    return evaluate(backward_from_inputs(forward_->recordable(), backward_->recordable()), arguments);
  }

  std::vector<SavedTensor> saved_, inputs_;
  std::vector<TensorType> outputs_;
  std::shared_ptr<const Program> backward_, forward_;
  std::shared_ptr<const SymbolicBackward> symbolic_;
  std::string name_;
  bool is_released_ = false;
};

}  // namespace

void attach_compiled_node(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, std::vector<Tensor> saved,
                          std::shared_ptr<const Program> backward, std::string name,
                          std::shared_ptr<const Program> forward, std::shared_ptr<const SymbolicBackward> symbolic) {
  const auto node = std::make_shared<CompiledNode>(inputs, outputs, saved, std::move(backward), std::move(name),
                                                   std::move(forward), std::move(symbolic));
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined() && is_floating(outputs[i].dtype())) set_history(outputs[i], node, static_cast<int>(i));
}

}  // namespace fulgurite
