#include "hub/embedding/sentence_modules.h"

#include <filesystem>
#include <optional>

#include <fulgurite/error.h>

#include "hub/files.h"
#include "io/json.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub {

namespace {

using Kind = json::Node::Kind;

std::optional<json::Node> read_json(const std::string& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  try {
    return json::parse(read_text(path));
  } catch (const UserError& error) {
    throw UserError(text::cat("\"", path, "\": ", error.what()));
  }
}

std::string text_of(const json::Node& object, std::string_view key) {
  const json::Node* node = object.find(key);
  return node != nullptr && node->is(Kind::string) ? node->string : "";
}

// The folder of a module. A path that leads out of the model's folder is refused.
std::string folder_of(const std::string& folder, const json::Node& module) {
  const std::string path = text_of(module, "path");
  if (path.empty()) return folder;
  const std::filesystem::path relative(path);
  if (relative.is_absolute() || path.find("..") != std::string::npos)
    throw UserError(text::cat("\"", folder, "\": modules.json names the path \"", printable(path), "\" outside of it"));
  return join_path(folder, path);
}

struct PoolingName {
  const char *flag, *name;  // of older and newer files
  Pooling pooling;
};
constexpr PoolingName pooling_names[] = {
    {"pooling_mode_mean_tokens", "mean", Pooling::mean},
    {"pooling_mode_cls_token", "cls", Pooling::first_token},
    {"pooling_mode_max_tokens", "max", Pooling::max},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Pooling::mean_of_root}};

Pooling read_pooling(const std::string& folder) {
  const std::string path = join_path(folder, "config.json");
  const std::optional<json::Node> config = read_json(path);
  if (!config) return Pooling::mean;
  const std::string named = text_of(*config, "pooling_mode");
  std::optional<Pooling> found;
  int64_t count = 0;
  for (const json::Member& member : config->members)
    count += member.name.starts_with("pooling_mode_") && member.value.is(Kind::boolean) && member.value.boolean;
  for (const PoolingName& entry : pooling_names) {
    const json::Node* flag = config->find(entry.flag);
    if (named == entry.name || (flag != nullptr && flag->is(Kind::boolean) && flag->boolean)) found = entry.pooling;
  }
  if (!found || count > 1)
    throw UserError(text::cat("\"", path,
                              "\": the pooling is not supported; there are one of mean, cls, max and "
                              "mean_sqrt_len_tokens"));
  return *found;
}

// sentence_bert_config.json has the length; the tokenizer's files may have another one.
void read_length(const std::string& folder, EmbedOptions& options) {
  const std::optional<json::Node> config = read_json(join_path(folder, "sentence_bert_config.json"));
  const json::Node* length = config ? config->find("max_seq_length") : nullptr;
  if (length != nullptr && length->is(Kind::integer) && length->integer > 0) options.max_tokens = length->integer;
}

void read_module(const std::string& folder, const json::Node& module, SentenceModules& out) {
  const std::string type = text_of(module, "type");
  const std::string name = type.substr(type.rfind('.') + 1);
  if (name == "Transformer") out.model_folder = folder_of(folder, module);
  else if (name == "Pooling") out.options.pooling = read_pooling(folder_of(folder, module));
  else if (name == "Normalize") out.options.normalize = true;
  else
    throw UserError(text::cat("\"", folder, "\": modules.json has the module \"", printable(type),
                              "\", which is not supported; there are Transformer, Pooling and Normalize"));
}

}  // namespace

SentenceModules read_sentence_modules(const std::string& folder) {
  SentenceModules out{folder, {}};
  if (const std::optional<json::Node> modules = read_json(join_path(folder, "modules.json")))
    for (const json::Node& module : modules->items) read_module(folder, module, out);
  read_length(out.model_folder, out.options);
  return out;
}

}  // namespace fulgurite::hub
