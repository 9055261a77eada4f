#include "autograd/eager/eager_node.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "tracing/evaluate.h"

namespace fulgurite {

EagerNode::EagerNode(EagerCall call, uint64_t structure_hash, std::span<const Tensor* const> inputs,
                     std::span<const Tensor> outputs, SourceLocation at)
    : function_(std::move(call.function)), values_(call.values.begin(), call.values.end()) {
  set_source(at);
  add_to_hash(structure_hash);
  reserve_edges(inputs.size());
  for (const Tensor* input : inputs) add_edge(gradient_edge(*input));
  for (const EagerFunction::Source& source : function_->saves())
    saved_.push_back({source.origin == SavedTensor::Origin::input ? *inputs[source.index] : outputs[source.index],
                      source.origin, source.index});
}

const std::shared_ptr<EagerFunction>& EagerNode::exact_function() const {
  if (values_.empty()) return function_;
  std::call_once(exact_once_, [&] { exact_ = function_->exact({values_.data(), values_.size()}); });
  return exact_;
}

const SavedTensor& EagerNode::saved(const EagerFunction& function, int position) const {
  if (&function == function_.get()) return saved_[static_cast<size_t>(position)];
  const EagerFunction::Source& source = function.saves()[static_cast<size_t>(position)];
  const auto at = std::find_if(saved_.begin(), saved_.end(), [&](const SavedTensor& one) {
    return one.origin() == source.origin && one.index() == source.index;
  });
  if (at == saved_.end()) throw InternalError(function.node_name() + " saves something else for these sizes");
  return *at;
}

void EagerNode::release_saved() {
  is_released_ = is_released_ || !saved_.empty();
  saved_.clear();
}

void EagerNode::keep_elements_of(const Storage& storage) {
  for (SavedTensor& saved : saved_) saved.keep_elements_of(storage);
}

void EagerNode::append_saved(std::vector<Tensor>& saved, bool create_graph) {
  if (is_released_) throw_already_freed(name());
  const EagerFunction& function = exact();
  for (size_t i = 0; i < function.saves().size(); ++i) {
    const SavedTensor& one = this->saved(function, static_cast<int>(i));
    saved.push_back(create_graph ? one.with_history(*this) : one.elements(function.node_name()));
  }
}

const EagerFunction::Backward& EagerNode::choose_backward(std::vector<Tensor>& gradients, uint64_t needed) {
  EagerFunction& function = exact();
  uint64_t given = 0;
  if (function.chooses_outputs()) {
    for (size_t i = 0; i < gradients.size(); ++i) given |= uint64_t{gradients[i].defined()} << i;
  } else {
    for (size_t i = 0; i < gradients.size(); ++i) {
      const TensorProxy& type = function.output(i);
      if (!gradients[i].defined()) gradients[i] = make_zeros({type.shape, type.dtype, type.device});
    }
  }
  return function.backward(given, needed);
}

std::vector<Tensor> EagerNode::by_edge(std::vector<Tensor> results) const {
  if (results.size() == next_edges().size()) return results;
  std::vector<Tensor> spread(next_edges().size());
  for (size_t i = 0; i < results.size(); ++i) spread[function_->input_positions()[i]] = std::move(results[i]);
  return spread;
}

bool EagerNode::append_structure(KeyWords& words, std::vector<int64_t>& sizes) const {
  const CallStructure& structure = exact().structure();
  words.append(structure.words.begin(), structure.words.end());
  sizes.insert(sizes.end(), structure.sizes.begin(), structure.sizes.end());
  return true;
}

std::optional<std::vector<Tensor>> EagerNode::record_with_symbols(std::span<const Tensor> saved,
                                                                  const std::vector<Tensor>& gradients, uint64_t needed,
                                                                  std::span<const Int> sizes) {
  EagerFunction* const function = exact().with_symbols(sizes);
  if (function == nullptr) return std::nullopt;
  uint64_t given = 0;
  for (size_t i = 0; i < gradients.size(); ++i) given |= uint64_t{gradients[i].defined()} << i;
  const EagerFunction::Backward& backward = function->backward(given, needed);
  std::vector<Tensor> arguments;
  const std::vector<EagerFunction::Source>& there = exact().saves();
  for (const int position : backward.saved) {
    const auto is_it = [&, wanted =
                               function->saves()[static_cast<size_t>(position)]](const EagerFunction::Source& source) {
      return source.origin == wanted.origin && source.index == wanted.index;
    };
    const auto at = std::ranges::find_if(there, is_it);
    if (at == there.end()) return std::nullopt;
    arguments.push_back(saved[static_cast<size_t>(at - there.begin())]);
  }
  size_t cotangent = 0;
  for (const Tensor& gradient : gradients)
    if (gradient.defined()) arguments.push_back(backward.reads[cotangent++] ? gradient : Tensor());
  std::vector<Tensor> results = evaluate(backward.trace(), arguments, EagerFunction::symbols_of(sizes));
  results.resize(function_->input_positions().size());  // scalars have no gradient
  return by_edge(std::move(results));
}

std::vector<Tensor> EagerNode::record(std::span<const Tensor> saved, std::vector<Tensor> gradients, const NodeRun& run,
                                      std::span<const Int> sizes) {
  if (std::ranges::any_of(sizes, [](Int size) { return size.is_symbolic(); }))
    if (auto results = record_with_symbols(saved, gradients, run.needed, sizes)) return std::move(*results);
  const EagerFunction::Backward& backward = choose_backward(gradients, run.needed);
  std::vector<Tensor> arguments;
  for (const int position : backward.saved) arguments.push_back(saved[static_cast<size_t>(position)]);
  size_t cotangent = 0;
  for (const Tensor& gradient : gradients)
    if (gradient.defined()) arguments.push_back(backward.reads[cotangent++] ? gradient : Tensor());
  return by_edge(evaluate(backward.trace(), arguments));
}

std::optional<std::vector<Tensor>> EagerNode::run_formula(const std::vector<Tensor>& gradients, uint64_t needed) const {
  if (!gradients[0].defined()) return std::nullopt;
  const EagerFunction::Backward& backward = function_->backward(1, needed);
  if (!backward.formula) return std::nullopt;
  std::vector<Tensor> arguments, results;
  for (const int position : backward.saved)
    arguments.push_back(saved_[static_cast<size_t>(position)].elements(function_->node_name()));
  arguments.push_back(backward.reads[0] ? gradients[0] : Tensor());
  if (!backward.formula->run(arguments, {values_.data(), values_.size()}, results)) return std::nullopt;
  results.resize(function_->input_positions().size());  // scalars have no gradient
  return by_edge(std::move(results));
}

std::vector<Tensor> EagerNode::apply(std::vector<Tensor> gradients, const NodeRun& run) {
  if (is_released_) throw_already_freed(name());
  if (!values_.empty() && !run.create_graph)
    if (auto results = run_formula(gradients, run.needed)) return std::move(*results);
  const EagerFunction::Backward& backward = choose_backward(gradients, run.needed);
  std::vector<Tensor> arguments, results;
  arguments.reserve(backward.saved.size() + gradients.size());
  for (const int position : backward.saved) {
    const SavedTensor& one = saved(exact(), position);
    arguments.push_back(run.create_graph ? one.with_history(*this) : one.elements(function_->node_name()));
  }
  size_t cotangent = 0;
  for (Tensor& gradient : gradients)
    if (gradient.defined()) arguments.push_back(backward.reads[cotangent++] ? std::move(gradient) : Tensor());
  gradients.clear();

  if (run.create_graph) results = evaluate(backward.trace(), arguments);
  else backward.compiled.backward->run(arguments, results);
  return by_edge(std::move(results));
}

}  // namespace fulgurite
