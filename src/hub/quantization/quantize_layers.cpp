#include <fulgurite/autograd_modes.h>
#include <fulgurite/hub/checkpoint.h>

#include "hub/quantization/quantized_layers.h"
#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

constexpr int64_t group = 32;

}  // namespace

Weights weights_from_name(std::string_view name) {
  if (name == "int8") return Weights::int8;
  if (name == "int4") return Weights::int4;
  throw UserError(text::cat("weights are int8 or int4, not \"", std::string(name), "\""));
}

namespace detail {

bool is_quantizable(const nn::Linear& layer) {
  const Tensor& weight = layer.weight;
  return weight.defined() && weight.ndim() == 2 && weight.size(1).hint() % group == 0;
}

void quantize(const std::vector<NamedLinear>& layers, Weights weights) {
  if (weights == Weights::as_stored) return;
  for (const NamedLinear& linear : layers) {
    if (!is_quantizable(*linear.layer)) continue;
    const bool is_output = linear.name == "lm_head" || linear.name.ends_with(".lm_head");
    const bool is_byte = weights == Weights::int8 || is_output;
    linear.layer->quantized = nn::quantize(linear.layer->weight, is_byte ? nn::Codes::q8_0 : nn::Codes::q4_0);
    linear.layer->weight = Tensor();
  }
}

void place_codes(const std::string&, const Config&, const std::vector<NamedLinear>&) {}

}  // namespace detail

}  // namespace fulgurite::hub
