#include "io/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include <fulgurite/error.h>

#include "support/text.h"

namespace fulgurite::json {

namespace {

constexpr int deepest = 200;  // nested lists and objects; nobody needs more, and a stack holds this many

Node convert(const nlohmann::ordered_json& json, int depth = 0) {
  if (depth > deepest) throw UserError("not JSON that is read here: it is nested too deeply");
  Node node;
  switch (json.type()) {
    case nlohmann::json::value_t::boolean:
      node.kind = Node::Kind::boolean;
      node.boolean = json.get<bool>();
      break;
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
      node.kind = Node::Kind::integer;
      node.integer = json.get<int64_t>();
      node.floating = static_cast<double>(node.integer);
      break;
    case nlohmann::json::value_t::number_float:
      node.kind = Node::Kind::floating;
      node.floating = json.get<double>();
      break;
    case nlohmann::json::value_t::string:
      node.kind = Node::Kind::string;
      node.string = json.get<std::string>();
      break;
    case nlohmann::json::value_t::array:
      node.kind = Node::Kind::array;
      for (const auto& item : json) node.items.push_back(convert(item, depth + 1));
      break;
    case nlohmann::json::value_t::object:
      node.kind = Node::Kind::object;
      for (const auto& [name, member] : json.items()) node.members.push_back({name, convert(member, depth + 1)});
      break;
    default: break;
  }
  return node;
}

const char* kind_name(Node::Kind kind) {
  static constexpr const char* names[] = {"null", "true or false", "a whole number", "a number", "a string", "a list", "an object"};
  return names[static_cast<int>(kind)];
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (const auto& [key, member] : members)
    if (key == name) return &member;
  return nullptr;
}

const Node& Node::at(std::string_view name, Kind wanted) const {
  const Node* member = find(name);
  const bool fits = member && (member->kind == wanted || (wanted == Kind::floating && member->kind == Kind::integer));
  if (!fits) throw UserError(text::cat("\"", name, "\" should be ", kind_name(wanted)));
  return *member;
}

Node parse(std::string_view text) {
  try {
    return convert(nlohmann::ordered_json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    std::string message = error.what();
    if (const size_t bracket = message.find("] "); bracket != std::string::npos) message.erase(0, bracket + 2);
    throw UserError("not JSON: " + message);
  }
}

std::string quote(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string number(double value) { return std::isfinite(value) ? nlohmann::json(value).dump() : "null"; }

}  // namespace fulgurite::json
