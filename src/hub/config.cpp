#include <filesystem>
#include <fstream>
#include <iterator>

#include <fulgurite/error.h>
#include <fulgurite/hub/config.h>

#include "hub/files.h"
#include "io/json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub {

using json::Node;

struct Config::State {
  std::string label;  // the file, and the path of the object in it
  std::shared_ptr<const Node> root;
  const Node* object;
};

namespace {

const Node& empty_object() {
  static const Node empty = [] {
    Node node;
    node.kind = Node::Kind::object;
    return node;
  }();
  return empty;
}

std::shared_ptr<const Node> parse_object(const std::string& text, const std::string& label) {
  try {
    auto node = std::make_shared<const Node>(json::parse(text));
    if (!node->is(Node::Kind::object)) throw UserError("it is not a JSON object");
    return node;
  } catch (const UserError& error) {
    throw UserError(text::cat(label, ": ", error.what()));
  }
}

[[noreturn]] void refuse_kind(const std::string& label, std::string_view key, std::string_view kind) {
  throw UserError(text::cat(label, ": \"", key, "\" must be ", kind));
}

const Node* find(const Node& object, std::string_view key) {
  const Node* node = object.find(key);
  return node == nullptr || node->is(Node::Kind::null) ? nullptr : node;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) throw UserError(text::cat("\"", path, "\" cannot be read"));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string join_path(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

Config::Config(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Config::Config(const std::string& text, const std::string& label) {
  const auto root = parse_object(text, label);
  state_ = std::make_shared<const State>(State{label, root, root.get()});
}

Config Config::read(const std::string& folder) {
  const std::string path = join_path(folder, "config.json");
  if (!std::filesystem::is_directory(folder))
    throw UserError(text::cat("\"", folder, "\" is not a folder of a model (config.json and *.safetensors)"));
  if (!std::filesystem::exists(path)) throw UserError(text::cat("\"", folder, "\" has no config.json"));
  return Config(read_text(path), path);
}

bool Config::has(std::string_view key) const { return find(*state_->object, key) != nullptr; }

bool Config::is_null(std::string_view key) const {
  const Node* node = state_->object->find(key);
  return node != nullptr && node->is(Node::Kind::null);
}

std::string Config::model_type() const {
  if (!has("model_type")) throw UserError(text::cat(state_->label, ": there is no \"model_type\""));
  return string("model_type", "");
}

int64_t Config::integer(std::string_view key) const {
  if (!has(key)) throw UserError(text::cat(state_->label, ": there is no \"", key, "\""));
  return integer(key, 0);
}

int64_t Config::integer(std::string_view key, int64_t otherwise) const {
  const Node* node = find(*state_->object, key);
  if (node == nullptr) return otherwise;
  if (!node->is(Node::Kind::integer)) refuse_kind(state_->label, key, "a whole number");
  return node->integer;
}

double Config::number(std::string_view key, double otherwise) const {
  const Node* node = find(*state_->object, key);
  if (node == nullptr) return otherwise;
  if (!node->is_number()) refuse_kind(state_->label, key, "a number");
  return node->floating;
}

bool Config::boolean(std::string_view key, bool otherwise) const {
  const Node* node = find(*state_->object, key);
  if (node == nullptr) return otherwise;
  if (!node->is(Node::Kind::boolean)) refuse_kind(state_->label, key, "true or false");
  return node->boolean;
}

std::string Config::string(std::string_view key, std::string_view otherwise) const {
  const Node* node = find(*state_->object, key);
  if (node == nullptr) return std::string(otherwise);
  if (!node->is(Node::Kind::string)) refuse_kind(state_->label, key, "a text");
  return node->string;
}

std::vector<std::string> Config::strings(std::string_view key) const {
  const Node* node = find(*state_->object, key);
  std::vector<std::string> out;
  if (node == nullptr) return out;
  if (!node->is(Node::Kind::array)) refuse_kind(state_->label, key, "a list of texts");
  for (const Node& item : node->items) {
    if (!item.is(Node::Kind::string)) refuse_kind(state_->label, key, "a list of texts");
    out.push_back(item.string);
  }
  return out;
}

std::vector<int64_t> Config::integers(std::string_view key) const {
  const Node* node = find(*state_->object, key);
  std::vector<int64_t> out;
  if (node == nullptr) return out;
  if (node->is(Node::Kind::integer)) return {node->integer};
  if (!node->is(Node::Kind::array)) refuse_kind(state_->label, key, "a list of whole numbers");
  for (const Node& item : node->items) {
    const bool is_boolean = item.is(Node::Kind::boolean);
    if (!is_boolean && !item.is(Node::Kind::integer)) refuse_kind(state_->label, key, "a list of whole numbers");
    out.push_back(is_boolean ? static_cast<int64_t>(item.boolean) : item.integer);
  }
  return out;
}

std::vector<double> Config::numbers(std::string_view key) const {
  const Node* node = find(*state_->object, key);
  std::vector<double> out;
  if (node == nullptr) return out;
  if (node->is_number()) return {node->floating};
  if (!node->is(Node::Kind::array)) refuse_kind(state_->label, key, "a list of numbers");
  for (const Node& item : node->items) {
    if (!item.is_number()) refuse_kind(state_->label, key, "a list of numbers");
    out.push_back(item.floating);
  }
  return out;
}

bool Config::is_object(std::string_view key) const {
  const Node* node = find(*state_->object, key);
  return node != nullptr && node->is(Node::Kind::object);
}

Config Config::object(std::string_view key) const {
  const Node* node = find(*state_->object, key);
  if (node == nullptr) node = &empty_object();
  if (!node->is(Node::Kind::object)) refuse_kind(state_->label, key, "an object");
  return Config(std::make_shared<const State>(State{text::cat(state_->label, ", ", key), state_->root, node}));
}

std::vector<std::string> Config::keys(std::string_view key) const {
  std::vector<std::string> out;
  const Node* node = find(*state_->object, key);
  if (node == nullptr) return out;
  if (!node->is(Node::Kind::object)) refuse_kind(state_->label, key, "an object");
  for (const json::Member& member : node->members) out.push_back(member.name);
  return out;
}

std::optional<Dtype> Config::dtype() const {
  const std::string_view key = has("dtype") ? "dtype" : "torch_dtype";
  const std::string name = string(key, "");
  if (name.empty()) return std::nullopt;
  if (name == "float32") return Dtype::f32;
  if (name == "bfloat16") return Dtype::bf16;
  if (name == "float16") return Dtype::f16;
  if (name == "float64") return Dtype::f64;
  refuse(key, "there are float32, bfloat16, float16 and float64");
}

void Config::refuse(std::string_view key, std::string_view reason) const {
  const Node* node = find(*state_->object, key);
  const std::string value = node == nullptr                  ? "absent"
                            : node->is(Node::Kind::string)   ? text::cat("\"", printable(node->string), "\"")
                            : node->is(Node::Kind::integer)  ? text::cat(node->integer)
                            : node->is(Node::Kind::floating) ? json::number(node->floating)
                            : node->is(Node::Kind::boolean)  ? (node->boolean ? "true" : "false")
                                                             : "of another kind";
  throw UserError(text::cat(state_->label, ": \"", key, "\" is ", value, ", which is not supported; ", reason));
}

}  // namespace fulgurite::hub
