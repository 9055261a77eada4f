#pragma once
#include <fulgurite/detail/requirements.h>

// Models whose linear layers have weights of few bits.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/hub/config.h>
#include <fulgurite/hub/linear_layers.h>
#include <fulgurite/nn.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// The form in which the weights of linear layers are held.
enum class Weights : uint8_t {
  as_stored,  // as in the files
  int8,       // 8.5 bits a number: nn::Codes::q8_0
  int4,       // 4.5 bits: nn::Codes::q4_0; those of the output layer, lm_head, as int8
};
/// "files", "int8" or "int4"; UserError for another name.
Weights weights_from_name(std::string_view name);

namespace detail {
/// Gives those layers codes that have codes in the folder of a quantized model. UserError for a model that another
/// program quantized.
void place_codes(const std::string& folder, const Config& config, const std::vector<NamedLinear>& layers,
                 Weights weights);
/// Replaces the weights of the layers by codes, and those by numbers.
void quantize(const std::vector<NamedLinear>& layers, Weights weights);
void dequantize(const std::vector<NamedLinear>& layers, Dtype dtype);
}  // namespace detail

/// Returns the model with the weights of its linear layers in few bits, as `load` with LoadOptions::weights. The
/// other tensors share the model's memory.
template <class Model>
Model quantize(Model model, Weights weights) {
  detail::quantize(detail::collect(model).layers, weights);
  return model;
}

/// Returns a quantized model with weights that are the numbers of the codes; they require gradients.
template <class Model>
Model dequantize(Model model, Dtype dtype = Dtype::f32) {
  detail::dequantize(detail::collect(model).layers, dtype);
  return model;
}

}  // namespace hub
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
