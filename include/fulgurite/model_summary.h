#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fulgurite/detail/walk.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite::nn {

namespace model_detail {
int64_t count_elements(const NamedTensors& tensors);
std::string summary_of(const NamedTensors& all);
void freeze(const NamedTensors& all, std::string_view prefix, bool requires_grad);
}  // namespace model_detail

/// Elements of the parameters: tensors that require gradients, each once.
template <class Model>
int64_t parameter_count(const Model& model) {
  return model_detail::count_elements(named_parameters(model));
}

/// A table of the model's tensors: name, shape, dtype, elements, and their sums.
template <class Model>
std::string summary(const Model& model) {
  return model_detail::summary_of(model_detail::named_tensors(model));
}

/// Parameters whose names begin with the prefix need no gradient any more: all without one. Optimizers made after it
/// do not see them.
template <class Model>
void freeze(const Model& model, std::string_view prefix = {}) {
  model_detail::freeze(model_detail::named_tensors(model), prefix, false);
}
/// The opposite, for floating tensors. Buffers of normalization layers ("running_mean", "running_var") stay as they
/// are.
template <class Model>
void unfreeze(const Model& model, std::string_view prefix = {}) {
  model_detail::freeze(model_detail::named_tensors(model), prefix, true);
}

}  // namespace fulgurite::nn
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
