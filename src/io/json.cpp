#include "io/json.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::json {

namespace {

constexpr size_t deepest = 127;             // nested lists and objects, as in the reference reader of safetensors
constexpr size_t max_scanned_members = 16;  // objects this small are searched pairwise

void check_unique(const std::vector<Member>& members) {
  const auto refuse = [](std::string_view name) {
    throw UserError(text::cat("not JSON: the name \"", printable(name), "\" occurs twice in an object"));
  };
  if (members.size() <= max_scanned_members) {
    for (size_t i = 1; i < members.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (members[i].name == members[j].name) refuse(members[i].name);
    return;
  }
  std::vector<std::string_view> names;
  for (const Member& member : members) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) refuse(*twice);
}

// Builds nodes from the parser's events. With `visit`, passes the members of the outermost object to it instead.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const std::function<void(Member&&)>* visit) : visit_(visit) {}
  Node result() && { return std::move(result_); }

  bool null() override { return add({}); }
  bool boolean(bool value) override {
    Node node;
    node.kind = Node::Kind::boolean;
    node.boolean = value;
    return add(std::move(node));
  }
  bool number_integer(number_integer_t value) override {
    return value == 0 ? number_float(-0.0, "") : add_integer(value);  // the only such zero is "-0"
  }
  bool number_unsigned(number_unsigned_t value) override {
    return value > INT64_MAX ? number_float(static_cast<double>(value), "") : add_integer(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    Node node;
    node.kind = Node::Kind::floating;
    node.floating = value;
    return add(std::move(node));
  }
  bool string(string_t& value) override {
    Node node;
    node.kind = Node::Kind::string;
    node.string = std::move(value);
    return add(std::move(node));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return open(Node::Kind::object); }
  bool start_array(size_t) override { return open(Node::Kind::array); }
  bool end_object() override {
    check_unique(open_.back().node.members);
    return close();
  }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    open_.back().key = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    std::string message = error.what();
    if (const size_t bracket = message.find("] "); bracket != std::string::npos) message.erase(0, bracket + 2);
    throw UserError("not JSON: " + printable(message));
  }

 private:
  // A list or object whose end has not been read yet, and the name of its next member.
  struct Open {
    Node node;
    std::string key;
  };

  bool add_integer(int64_t value) {
    Node node;
    node.kind = Node::Kind::integer;
    node.integer = value;
    node.floating = static_cast<double>(value);
    return add(std::move(node));
  }

  bool add(Node node) {
    if (open_.empty()) {
      if (visit_) throw UserError("not a JSON object");
      result_ = std::move(node);
    } else if (Open& parent = open_.back(); parent.node.is(Node::Kind::array)) {
      parent.node.items.push_back(std::move(node));
    } else if (visit_ && open_.size() == 1) {
      (*visit_)({std::move(parent.key), std::move(node)});
    } else {
      parent.node.members.push_back({std::move(parent.key), std::move(node)});
    }
    return true;
  }

  bool open(Node::Kind kind) {
    if (open_.size() == deepest) throw UserError("not JSON that can be read: it is nested too deeply");
    if (open_.empty() && visit_ && kind != Node::Kind::object) throw UserError("not a JSON object");
    open_.emplace_back().node.kind = kind;
    return true;
  }

  bool close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    if (open_.empty() && visit_) return true;
    return add(std::move(node));
  }

  const std::function<void(Member&&)>* visit_;
  std::vector<Open> open_;
  Node result_;
};

// The parser would end at a zero byte and skip a byte order mark: neither is JSON.
void check_ends(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) throw UserError("not JSON: it begins with a byte order mark");
  if (text.find('\0') != std::string_view::npos) throw UserError("not JSON: it has a zero byte");
}

Node build(std::string_view text, const std::function<void(Member&&)>* visit) {
  check_ends(text);
  Builder builder(visit);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return std::move(builder).result();
}

const char* kind_name(Node::Kind kind) {
  static constexpr const char* names[] = {"null",     "true or false", "a whole number", "a number",
                                          "a string", "a list",        "an object"};
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

Node parse(std::string_view text) { return build(text, nullptr); }

void for_each_member(std::string_view text, const std::function<void(Member&&)>& visit) { build(text, &visit); }

std::string quote(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string number(double value) { return std::isfinite(value) ? nlohmann::json(value).dump() : "null"; }

std::string print(const Node& node, int indent) {
  const std::string line = "\n" + std::string(static_cast<size_t>(indent) + 2, ' ');
  std::string out;
  switch (node.kind) {
    case Node::Kind::null: return "null";
    case Node::Kind::boolean: return node.boolean ? "true" : "false";
    case Node::Kind::integer: return std::to_string(node.integer);
    case Node::Kind::floating: return number(node.floating);
    case Node::Kind::string: return quote(node.string);
    case Node::Kind::array:
      for (const Node& item : node.items) out += (out.empty() ? "" : ", ") + print(item, indent);
      return "[" + out + "]";
    case Node::Kind::object: break;
  }
  for (const Member& member : node.members)
    out += (out.empty() ? "" : ",") + line + quote(member.name) + ": " + print(member.value, indent + 2);
  return out.empty() ? "{}" : "{" + out + line.substr(0, line.size() - 2) + "}";
}

}  // namespace fulgurite::json
