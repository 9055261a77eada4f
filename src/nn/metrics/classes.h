#pragma once
#include <string_view>
#include <vector>

#include <fulgurite/tensor.h>

namespace fulgurite::metrics {

/// The classes themselves, or those of the highest scores.
std::vector<int64_t> predicted_classes(std::string_view function, const Tensor& scores_or_classes, SourceLocation at);
std::vector<int64_t> true_classes(std::string_view function, const Tensor& classes, size_t count, SourceLocation at);

}  // namespace fulgurite::metrics
