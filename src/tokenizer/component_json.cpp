#include "tokenizer/component_json.h"

#include <fulgurite/error.h>

#include "support/text/text.h"

namespace fulgurite::tokenization {

namespace {

[[noreturn]] void refuse(std::string_view key, std::string_view kind) {
  throw UserError(text::cat("\"", key, "\" must be ", kind));
}

}  // namespace

const json::Node* member(const json::Node& object, std::string_view key) {
  if (!object.is(json::Node::Kind::object)) return nullptr;
  const json::Node* node = object.find(key);
  return node == nullptr || node->is(json::Node::Kind::null) ? nullptr : node;
}

std::string type_of(const json::Node& component, std::string_view what) {
  const json::Node* type = member(component, "type");
  if (type == nullptr || !type->is(json::Node::Kind::string))
    throw UserError(text::cat("a ", what, " has no \"type\""));
  return type->string;
}

std::string string_member(const json::Node& object, std::string_view key, std::string_view otherwise) {
  const json::Node* node = member(object, key);
  if (node == nullptr) return std::string(otherwise);
  if (!node->is(json::Node::Kind::string)) refuse(key, "a text");
  return node->string;
}

bool bool_member(const json::Node& object, std::string_view key, bool otherwise) {
  const json::Node* node = member(object, key);
  if (node == nullptr) return otherwise;
  if (!node->is(json::Node::Kind::boolean)) refuse(key, "true or false");
  return node->boolean;
}

int64_t integer_member(const json::Node& object, std::string_view key, int64_t otherwise) {
  const json::Node* node = member(object, key);
  if (node == nullptr) return otherwise;
  if (!node->is(json::Node::Kind::integer)) refuse(key, "a whole number");
  return node->integer;
}

const std::vector<json::Node>& list_member(const json::Node& object, std::string_view key) {
  const json::Node* node = member(object, key);
  if (node == nullptr || !node->is(json::Node::Kind::array)) refuse(key, "a list");
  return node->items;
}

}  // namespace fulgurite::tokenization
