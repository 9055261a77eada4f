#include "hub/padding_token.h"

namespace fulgurite::hub {

std::optional<int64_t> padding_token(const Config& config, int64_t vocabulary, std::optional<int64_t> otherwise) {
  if (config.is_null("pad_token_id")) return std::nullopt;
  if (!config.has("pad_token_id") && !otherwise) return std::nullopt;
  const int64_t token = config.integer("pad_token_id", otherwise.value_or(0));
  return token < vocabulary && token >= -vocabulary ? std::optional(token) : std::nullopt;
}

}  // namespace fulgurite::hub
