#pragma once
#include <string>

#include <fulgurite/hub/linear_layers.h>

namespace fulgurite::hub::detail {

/// The quant_method in the config of a quantized model that `save` writes.
inline constexpr const char* quantization_method = "fulgurite";

/// The text of a config.json that says that the model's weights are codes; the others' does not.
std::string with_quantization(const std::string& config);
std::string without_quantization(const std::string& config);

/// True for a layer whose weight can become codes: its rows are whole groups.
bool is_quantizable(const nn::Linear& layer);

}  // namespace fulgurite::hub::detail
