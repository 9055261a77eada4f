#pragma once
#include <fulgurite/hub/linear_layers.h>

namespace fulgurite::hub::detail {

/// True for a layer whose weight can become codes: its rows are whole groups.
bool is_quantizable(const nn::Linear& layer);

}  // namespace fulgurite::hub::detail
