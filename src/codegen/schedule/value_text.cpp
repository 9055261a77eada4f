#include "codegen/schedule/value_text.h"

namespace fulgurite::codegen {

std::string_view element_text(Dtype dtype) {
  static constexpr std::string_view names[dtype_count] = {
      "double", "float", "BFloat16", "Float16", "long long", "int", "short", "signed char", "unsigned char", "Boolean"};
  return names[static_cast<int>(dtype)];
}

std::string_view lanes_text(Lanes lanes) {
  static constexpr std::string_view names[] = {"Floats", "Doubles", "Ints", "Longs", "Ints"};
  return names[static_cast<int>(lanes)];
}

std::string expression_text(const KernelValue& value, const std::function<const std::string&(int value)>& name) {
  std::string out;
  for (size_t at = 0; at < value.expression.size(); ++at) {
    if (value.expression[at] != '{') {
      out += value.expression[at];
      continue;
    }
    const size_t end = value.expression.find('}', at);
    out += name(value.operands[static_cast<size_t>(std::stoi(value.expression.substr(at + 1, end - at - 1)))]);
    at = end;
  }
  return out;
}

}  // namespace fulgurite::codegen
