#include "tokenizer/model_folder.h"

#include <filesystem>

#include <fulgurite/error.h>

#include "hub/files.h"
#include "io/json.h"
#include "support/text/text.h"
#include "tokenizer/component_json.h"

namespace fulgurite::tokenization {

namespace {

using Kind = json::Node::Kind;

// The object in a file of the folder; empty if there is no such file.
json::Node read_object(const std::string& folder, std::string_view name) {
  const std::string path = hub::join_path(folder, name);
  if (!std::filesystem::exists(path)) return {};
  try {
    return json::parse(hub::read_text(path));
  } catch (const UserError& error) {
    throw UserError(text::cat("\"", path, "\": ", error.what()));
  }
}

}  // namespace

Roles read_roles(const std::string& folder) {
  Roles roles;
  for (const json::Member& entry : read_object(folder, "tokenizer_config.json").members) {
    if (!entry.name.ends_with("_token")) continue;
    const json::Node* content = entry.value.is(Kind::string) ? &entry.value : member(entry.value, "content");
    if (content != nullptr && content->is(Kind::string)) roles[entry.name] = content->string;
  }
  return roles;
}

std::string read_chat_template(const std::string& folder) {
  const std::string path = hub::join_path(folder, "chat_template.jinja");
  if (std::filesystem::exists(path)) return hub::read_text(path);
  const json::Node config = read_object(folder, "tokenizer_config.json");
  const json::Node* source = member(config, "chat_template");
  if (source == nullptr) return "";
  if (source->is(Kind::string)) return source->string;
  for (const json::Node& entry : source->items)
    if (string_member(entry, "name", "") == "default") return string_member(entry, "template", "");
  return "";
}

std::vector<int64_t> read_end_tokens(const std::string& folder) {
  const bool has_generation = std::filesystem::exists(hub::join_path(folder, "generation_config.json"));
  const json::Node root = read_object(folder, has_generation ? "generation_config.json" : "config.json");
  const json::Node* ids = member(root, "eos_token_id");
  std::vector<int64_t> out;
  if (ids == nullptr) return out;
  if (ids->is(Kind::integer)) out.push_back(ids->integer);
  for (const json::Node& id : ids->items)
    if (id.is(Kind::integer)) out.push_back(id.integer);
  return out;
}

}  // namespace fulgurite::tokenization
