#pragma once
#include <fulgurite/detail/requirements.h>

// LoRA (Hu et al. 2021): changes of low rank of a model's linear layers, in the files of peft.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/hub/linear_layers.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// Options of `with_lora`, with the defaults of peft.
struct LoraOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  int64_t rank = 8;
  double alpha = 8;                                      // the change is multiplied by alpha / rank
  std::vector<std::string> targets{"q_proj", "v_proj"};  // last parts of layers' names; "all-linear": all but lm_head
  double dropout = 0;                                    // of the layer's input, while training
  bool rslora = false;                                   // alpha / √rank instead (Kalajdzievski 2023)
};

namespace detail {
void add_lora(const LinearCollector& model, const LoraOptions& options);
void save_lora(const std::vector<NamedLinear>& layers, const std::string& folder, const std::string& base_model);
void load_lora(const LinearCollector& model, const std::string& folder);
void merge_lora(const std::vector<NamedLinear>& layers);
}  // namespace detail

/// Returns the model with LoRA in the targets: B is 0, A is drawn as in peft. They are the only tensors that require
/// gradients; the others share the model's memory. UserError for targets that the model does not have, and if it has
/// LoRA already.
template <class Model>
Model with_lora(Model model, const LoraOptions& options = {}) {
  detail::add_lora(detail::collect(model), options);
  return model;
}

/// Saves the LoRA of a model as peft does: adapter_config.json and adapter_model.safetensors. `base_model` is the name
/// or the folder of the model without it. UserError if the model has none.
template <class Model>
void save_lora(const Model& model, const std::string& folder, const std::string& base_model = "") {
  Model handles = model;
  detail::save_lora(detail::collect(handles).layers, folder, base_model);
}

/// Returns the model with the LoRA of a folder that peft or `save_lora` wrote; the change is trainable. UserError for
/// settings of peft that the library does not have (DoRA, biases, modules to save, scales of single layers), LoadError
/// if tensors do not fit.
template <class Model>
Model load_lora(Model model, const std::string& folder) {
  detail::load_lora(detail::collect(model), folder);
  return model;
}

/// Returns the model with its LoRA added to the weights, which are copied: hub::save writes it as any other model.
template <class Model>
Model merge_lora(Model model) {
  detail::merge_lora(detail::collect(model).layers);
  return model;
}

}  // namespace hub
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
