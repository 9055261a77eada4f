#pragma once
#include <string>
#include <string_view>

#include "io/json.h"

namespace fulgurite::tokenization {

// Readers of tokenizer.json. Errors name the component and the key.

/// The "type" of a component.
std::string type_of(const json::Node& component, std::string_view what);
std::string string_member(const json::Node& object, std::string_view key, std::string_view otherwise);
bool bool_member(const json::Node& object, std::string_view key, bool otherwise);
/// Null or absent: `otherwise`.
int64_t integer_member(const json::Node& object, std::string_view key, int64_t otherwise);
/// A member that is neither absent nor null; null if there is none.
const json::Node* member(const json::Node& object, std::string_view key);
/// The items of a list; UserError if it is absent.
const std::vector<json::Node>& list_member(const json::Node& object, std::string_view key);

}  // namespace fulgurite::tokenization
