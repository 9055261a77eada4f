#include "io/json_values.h"

namespace fulgurite::json {

Value to_value(const Node& node, const std::function<Value(const Node&)>& of_object) {
  switch (node.kind) {
    case Node::Kind::null: return {};
    case Node::Kind::boolean: return node.boolean;
    case Node::Kind::integer: return node.integer;
    case Node::Kind::floating: return node.floating;
    case Node::Kind::string: return node.string;
    case Node::Kind::array: {
      std::vector<Value> items;
      for (const Node& item : node.items) items.push_back(to_value(item, of_object));
      return items;
    }
    case Node::Kind::object: break;
  }
  return of_object(node);
}

}  // namespace fulgurite::json
