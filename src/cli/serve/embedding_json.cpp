#include <bit>
#include <cstring>
#include <span>

#include "cli/serve/answers.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::cli {

namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) out += i + j <= bytes.size() ? digits[group >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

std::string vector_json(std::span<const float> vector, bool is_base64) {
  static_assert(std::endian::native == std::endian::little);
  if (is_base64) return json::quote(base64({reinterpret_cast<const char*>(vector.data()), vector.size_bytes()}));
  const auto number = [](float value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", static_cast<double>(value));
    return std::string(digits);
  };
  return text::cat("[", text::join(vector, number), "]");
}

}  // namespace

std::string embedding_json(const Tensor& vectors, bool is_base64, const std::string& model, int64_t tokens) {
  const std::vector<float> values = vectors.to_vector<float>();
  const auto width = static_cast<size_t>(vectors.size(1));
  std::vector<std::string> items;
  for (size_t i = 0; i < static_cast<size_t>(vectors.size(0)); ++i)
    items.push_back(text::cat("{\"object\": \"embedding\", \"index\": ", i,
                              ", \"embedding\": ", vector_json({values.data() + i * width, width}, is_base64), "}"));
  return text::cat("{\"object\": \"list\", \"data\": [",
                   text::join(items, [](const std::string& item) { return item; }),
                   "], \"model\": ", json::quote(model), ", \"usage\": {\"prompt_tokens\": ", tokens,
                   ", \"total_tokens\": ", tokens, "}}");
}

}  // namespace fulgurite::cli
