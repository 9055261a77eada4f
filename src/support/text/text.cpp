#include "support/text/text.h"

#include <charconv>
#include <cmath>

namespace fulgurite::text {

void append(std::string& out, std::string_view text) { out.append(text); }
void append(std::string& out, const char* text) { out.append(text); }
void append(std::string& out, char c) { out.push_back(c); }

void append(std::string& out, int64_t value) {
  char buffer[24];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void append(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  const std::string_view digits(buffer, static_cast<size_t>(end - buffer));
  out.append(digits);
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

}  // namespace fulgurite::text
