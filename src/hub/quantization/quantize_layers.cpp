#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/hub/quantization.h>

#include "hub/checkpoint.h"
#include "hub/quantization/quantized_layers.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

constexpr int64_t group = 32;

// A tensor of a folder's files that the codes of a layer are; undefined if there is none of this name.
Tensor place_of(const std::map<std::string, StoredTensor>& stored, const std::string& name, Shape shape) {
  const auto at = stored.find(name);
  if (at == stored.end()) return {};
  const Dtype dtype = tensor_of(name, at->second).dtype();
  if (dtype == Dtype::u8) shape.back() = shape.back() / 2;
  return empty(Dims(shape), {.dtype = dtype});
}

}  // namespace

Weights weights_from_name(std::string_view name) {
  if (name == "files") return Weights::as_stored;
  if (name == "int8") return Weights::int8;
  if (name == "int4") return Weights::int4;
  throw UserError(text::cat("weights are files, int8 or int4, not \"", std::string(name), "\""));
}

namespace detail {

std::string without_quantization(const std::string& config) {
  json::Node node = json::parse(config);
  std::erase_if(node.members, [](const json::Member& member) { return member.name == "quantization_config"; });
  return json::print(node) + "\n";
}

std::string with_quantization(const std::string& config) {
  json::Node node = json::parse(without_quantization(config));
  const std::string added = text::cat("{\"quant_method\": ", json::quote(quantization_method), ", \"group_size\": 32}");
  node.members.push_back({"quantization_config", json::parse(added)});
  return json::print(node) + "\n";
}

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

void dequantize(const std::vector<NamedLinear>& layers, Dtype dtype) {
  const NoGrad no_grad;
  for (const NamedLinear& linear : layers) {
    if (!linear.layer->quantized) continue;
    linear.layer->weight = linear.layer->quantized->dequantized(dtype).requires_grad_();
    linear.layer->quantized.reset();
  }
}

void place_codes(const std::string& folder, const Config& config, const std::vector<NamedLinear>& layers,
                 Weights weights) {
  if (!config.has("quantization_config")) return;
  const Config quantization = config.object("quantization_config");
  if (quantization.string("quant_method", "") != quantization_method)
    quantization.refuse("quant_method", "models of few bits are loaded that hub::save wrote");
  if (weights != Weights::as_stored)
    throw UserError(text::cat("\"", folder, "\" has weights of few bits already: they are loaded as stored"));
  const std::map<std::string, StoredTensor> stored = open_checkpoint(folder);
  for (const NamedLinear& linear : layers) {
    nn::Linear& layer = *linear.layer;
    const std::string name = linear.name + ".weight.";
    if (!stored.contains(name + "codes") || !is_quantizable(layer)) continue;
    const Int rows = layer.weight.size(0), columns = layer.weight.size(1);
    nn::QuantizedWeight weight;
    weight.codes = place_of(stored, name + "codes", {rows, columns});
    weight.scales = place_of(stored, name + "scales", {rows, columns / group});
    if (!weight.scales.defined()) weight.scales = empty({rows, columns / group}, {.dtype = Dtype::f16});
    weight.minima = place_of(stored, name + "minima", {rows, columns / group});
    layer.quantized = weight;
    layer.weight = Tensor();
  }
}

}  // namespace detail

}  // namespace fulgurite::hub
