#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/hub/config.h>

namespace fulgurite::hub {

/// Rows and columns, which a config gives as one number for both or as a list of two.
std::array<int64_t, 2> rows_and_columns(const Config& config, std::string_view key, int64_t otherwise);

/// The names of classes by index: "id2label", or as many of "num_labels" (2) as transformers makes. UserError if an
/// index is missing.
std::vector<std::string> labels_of(const Config& config);

/// "problem_type", checked; empty if there is none.
std::string problem_type_of(const Config& config);

}  // namespace fulgurite::hub
