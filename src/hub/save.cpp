#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fulgurite/hub/checkpoint.h>
#include <fulgurite/io.h>
#include <fulgurite/outside_memory.h>

#include "hub/files.h"
#include "io/atomic_file.h"
#include "hub/quantization/quantized_layers.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::hub::detail {

namespace {

namespace fs = std::filesystem;

// Files of a model's folder that do not depend on the weights.
constexpr const char* copied_files[] = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "vocab.txt",
                                        "tokenizer.model",
                                        "chat_template.jinja",
                                        "generation_config.json",
                                        "preprocessor_config.json",
                                        "processor_config.json",
                                        "modules.json",
                                        "sentence_bert_config.json",
                                        "1_Pooling/config.json",
                                        "config_sentence_transformers.json"};

struct Shard {
  TensorMap tensors;
  int64_t bytes = 0;
};

int64_t bytes_of(const Tensor& tensor) { return static_cast<int64_t>(tensor.numel()) * size_of(tensor.dtype()); }

// Tied tensors are in the files once, under their first name. A tensor is in one file, also if it is larger than a
// shard.
std::vector<Shard> divide(const std::vector<Slot>& slots, int64_t shard_bytes) {
  std::vector<Shard> shards(1);
  for (size_t i = 0; i < slots.size(); ++i) {
    const Tensor& tensor = *slots[i].tensor;
    const auto is_same = [&](const Slot& earlier) { return is_same_view(*earlier.tensor, tensor); };
    if (std::any_of(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(i), is_same)) continue;
    const int64_t bytes = bytes_of(tensor);
    if (!shards.back().tensors.empty() && shards.back().bytes + bytes > shard_bytes) shards.emplace_back();
    shards.back().tensors.emplace(slots[i].name, tensor);
    shards.back().bytes += bytes;
  }
  return shards;
}

std::string shard_name(size_t index, size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name;
}

std::string index_text(const std::vector<Shard>& shards) {
  int64_t total = 0;
  std::string map;
  for (size_t i = 0; i < shards.size(); ++i) {
    total += shards[i].bytes;
    for (const auto& [name, tensor] : shards[i].tensors)
      map += text::cat(map.empty() ? "" : ",", "\n    ", json::quote(name), ": ",
                       json::quote(shard_name(i, shards.size())));
  }
  return text::cat("{\n  \"metadata\": {\n    \"total_size\": ", total, "\n  },\n  \"weight_map\": {", map,
                   "\n  }\n}\n");
}

// Removes what an earlier save with another number of files left.
void remove_stale(const std::string& folder, const std::vector<std::string>& written) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool is_weights = name == "model.safetensors" || name == "model.safetensors.index.json" ||
                            (name.rfind("model-", 0) == 0 && name.find("-of-") != std::string::npos &&
                             entry.path().extension() == ".safetensors");
    if (is_weights && std::find(written.begin(), written.end(), name) == written.end()) fs::remove(entry.path());
  }
}

std::vector<std::string> save_tensors(const std::string& folder, const std::vector<Shard>& shards) {
  const Metadata metadata{{"format", "pt"}};
  if (shards.size() == 1) {
    save_safetensors(join_path(folder, "model.safetensors"), shards.front().tensors, metadata);
    return {"model.safetensors"};
  }
  std::vector<std::string> written;
  for (size_t i = 0; i < shards.size(); ++i) {
    written.push_back(shard_name(i, shards.size()));
    save_safetensors(join_path(folder, written.back()), shards[i].tensors, metadata);
  }
  written.emplace_back("model.safetensors.index.json");
  write_file(join_path(folder, written.back()), index_text(shards));
  return written;
}

std::string_view dtype_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return "float16";
    case Dtype::bf16: return "bfloat16";
    case Dtype::f64: return "float64";
    default: return "float32";
  }
}

bool has_vision(const std::vector<Slot>& slots) {
  return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.name.starts_with("vis"); });
}

// Sets a member of an object.
void set(json::Node& object, const std::string& name, const json::Node& value) {
  const auto at = std::find_if(object.members.begin(), object.members.end(),
                               [&](const json::Member& member) { return member.name == name; });
  if (at != object.members.end()) at->value = value;
  else object.members.push_back({name, value});
}

// The text of config.json. A model of images and texts has a config for its language model, which may be saved alone;
// the outer one says if the output layer has weights of its own.
std::string config_text(const std::string& folder, const std::vector<Slot>& slots) {
  std::string text = read_text(join_path(folder, "config.json"));
  if (!Config(text).has("text_config") || has_vision(slots)) return text;
  const json::Node whole = json::parse(text);
  json::Node part = whole.at("text_config", json::Node::Kind::object);
  for (const char* name : {"tie_word_embeddings", "dtype", "torch_dtype"})
    if (const json::Node* value = whole.find(name)) set(part, name, *value);
  return json::print(part) + "\n";
}

// The config with another dtype; the rest of the text is unchanged.
std::string with_dtype(const std::string& text, Dtype dtype) {
  const Config config(text);
  if (config.dtype() == dtype || (!config.has("dtype") && !config.has("torch_dtype"))) return text;
  const std::string key = config.has("dtype") ? "\"dtype\"" : "\"torch_dtype\"";
  std::string out = text;
  const size_t colon = out.find(':', out.find(key));
  const size_t begin = out.find('"', colon), end = out.find('"', begin + 1);
  if (colon == std::string::npos || end == std::string::npos) return text;
  return out.replace(begin + 1, end - begin - 1, dtype_name(dtype));
}

bool is_part_of_codes(const std::string& name) {
  return name.ends_with(".weight.codes") || name.ends_with(".weight.scales") || name.ends_with(".weight.minima");
}

Dtype dtype_of(const std::vector<Slot>& slots) {
  for (const Slot& slot : slots)
    if (is_floating(slot.tensor->dtype()) && !is_part_of_codes(slot.name)) return slot.tensor->dtype();
  return Dtype::f32;
}

// The config of a model with weights of few bits says so, another one does not.
std::string with_quantization_of(const std::string& text, const std::vector<Slot>& slots) {
  const bool has_codes =
      std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return is_part_of_codes(slot.name); });
  if (has_codes == Config(text).has("quantization_config")) return text;
  return has_codes ? with_quantization(text) : without_quantization(text);
}

void copy_files(const std::string& from, const std::string& to) {
  for (const char* name : copied_files) {
    const std::string source = join_path(from, name), target = join_path(to, name);
    if (!fs::is_regular_file(source)) continue;
    fs::create_directories(fs::path(target).parent_path());
    write_file(target, read_text(source));
  }
}

}  // namespace

void save(const std::string& folder, const std::vector<Slot>& slots, const SaveOptions& options) {
  if (options.like.empty())
    throw UserError(
        "hub::save: name the original's folder with .like; config.json and the tokenizer are copied from it");
  for (const Slot& slot : slots)
    if (slot.name.ends_with(".lora.A"))
      throw UserError("hub::save: the model has LoRA; save_lora saves it alone, and merge_lora adds it to the weights");
  if (options.shard_bytes < 1) throw UserError("hub::save: shard_bytes must be positive");
  const std::string text = with_quantization_of(config_text(options.like, slots), slots);
  const std::string config = with_dtype(text, dtype_of(slots));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UserError(text::cat("hub::save: \"", folder, "\" cannot be created: ", error.message()));
  const std::vector<std::string> written = save_tensors(folder, divide(slots, options.shard_bytes));
  const bool is_same_folder = fs::equivalent(folder, options.like, error) && !error;
  if (!is_same_folder) copy_files(options.like, folder);
  write_file(join_path(folder, "config.json"), config);
  remove_stale(folder, written);
}

}  // namespace fulgurite::hub::detail
