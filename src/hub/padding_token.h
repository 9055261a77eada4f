#pragma once
#include <cstdint>
#include <optional>

#include <fulgurite/hub/config.h>

namespace fulgurite::hub {

/// The "pad_token_id", whose row of the embedding gets no gradient; `otherwise` where the key is absent, none where it
/// is null or the vocabulary does not have the token. Negative ones count from the end.
std::optional<int64_t> padding_token(const Config& config, int64_t vocabulary, std::optional<int64_t> otherwise = {});

}  // namespace fulgurite::hub
