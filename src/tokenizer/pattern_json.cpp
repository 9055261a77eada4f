#include "tokenizer/pattern_json.h"

#include <fulgurite/error.h>

#include "tokenizer/component_json.h"

namespace fulgurite::tokenization {

Pattern read_pattern(const json::Node& component) {
  const json::Node* pattern = member(component, "pattern");
  if (pattern != nullptr && member(*pattern, "Regex") != nullptr)
    return Pattern::regex(string_member(*pattern, "Regex", ""));
  if (pattern != nullptr && member(*pattern, "String") != nullptr)
    return Pattern::literal(string_member(*pattern, "String", ""));
  throw UserError("\"pattern\" must be {\"String\": …} or {\"Regex\": …}");
}

}  // namespace fulgurite::tokenization
