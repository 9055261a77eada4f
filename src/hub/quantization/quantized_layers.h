#pragma once
#include <fulgurite/hub/linear_layers.h>

namespace fulgurite::hub::detail {

/// The quant_method in the config of a quantized model that `save` writes.
inline constexpr const char* quantization_method = "fulgurite";

/// True for a layer whose weight can become codes: its rows are whole groups.
bool is_quantizable(const nn::Linear& layer);

}  // namespace fulgurite::hub::detail
