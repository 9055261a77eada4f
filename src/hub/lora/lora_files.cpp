#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include <fulgurite/hub/checkpoint.h>
#include <fulgurite/hub/config.h>
#include <fulgurite/hub/lora.h>
#include <fulgurite/io.h>

#include "hub/files.h"
#include "io/atomic_file.h"
#include "io/json.h"
#include "support/text/text.h"

namespace fulgurite::hub::detail {

namespace {

constexpr const char* config_file = "adapter_config.json";
constexpr const char* tensors_file = "adapter_model.safetensors";
constexpr std::string_view prefix = "base_model.model.";

std::string file_name(const std::string& layer, char matrix) {
  return text::cat(prefix, layer, ".lora_", std::string(1, matrix), ".weight");
}

std::string target_list(const std::vector<NamedLinear>& layers) {
  std::vector<std::string> targets;
  for (const NamedLinear& linear : layers) {
    const std::string last = linear.name.substr(linear.name.rfind('.') + 1);
    if (linear.layer->lora && std::find(targets.begin(), targets.end(), last) == targets.end()) targets.push_back(last);
  }
  std::string out;
  for (const std::string& target : targets) out += text::cat(out.empty() ? "" : ", ", json::quote(target));
  return out;
}

std::string config_text(const std::vector<NamedLinear>& layers, const nn::LowRank& lora, const std::string& base) {
  const auto rank = static_cast<double>(lora.A.size(0));
  return text::cat("{\n  \"base_model_name_or_path\": ", base.empty() ? "null" : json::quote(base),
                   ",\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": false,\n  \"inference_mode\": true,\n",
                   "  \"init_lora_weights\": true,\n  \"lora_alpha\": ", json::number(lora.scale * rank),
                   ",\n  \"lora_dropout\": ", json::number(lora.dropout),
                   ",\n  \"modules_to_save\": null,\n  \"peft_type\": \"LORA\",\n  \"r\": ", lora.A.size(0),
                   ",\n  \"target_modules\": [", target_list(layers), "],\n  \"use_dora\": false,\n",
                   "  \"use_rslora\": false\n}\n");
}

// Settings that change the result and that the library does not have.
void refuse_other_settings(const Config& config) {
  if (config.string("peft_type", "LORA") != "LORA") config.refuse("peft_type", "there is LORA");
  if (config.boolean("use_dora", false)) config.refuse("use_dora", "the weights are not divided into parts");
  if (config.string("bias", "none") != "none") config.refuse("bias", "biases are not trained");
  if (config.boolean("fan_in_fan_out", false)) config.refuse("fan_in_fan_out", "weights are [out, in]");
  if (config.has("modules_to_save")) config.refuse("modules_to_save", "only linear layers have changes");
  for (const char* key : {"alpha_pattern", "rank_pattern"})
    if (const std::vector<std::string> names = config.keys(key); !names.empty())
      config.refuse(key, "all layers have one rank and one scale");
}

struct Found {
  Tensor A, B;
};

// The matrices by their layers.
std::map<std::string, Found> read_matrices(const std::string& folder) {
  std::map<std::string, Found> out;
  std::vector<std::string> unexpected;
  for (const auto& [name, tensor] : load_safetensors(join_path(folder, tensors_file))) {
    const bool is_a = name.ends_with(".lora_A.weight"), is_b = name.ends_with(".lora_B.weight");
    if (!name.starts_with(prefix) || (!is_a && !is_b)) {
      unexpected.push_back(name);
      continue;
    }
    const std::string layer =
        name.substr(prefix.size(), name.size() - prefix.size() - std::string(".lora_A.weight").size());
    (is_a ? out[layer].A : out[layer].B) = tensor;
  }
  if (!unexpected.empty()) throw LoadError(folder, {}, unexpected, {});
  return out;
}

std::vector<int64_t> sizes_of(const Tensor& tensor) {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < tensor.ndim(); ++i) sizes.push_back(tensor.size(i));
  return sizes;
}

// Throws LoadError for matrices that do not fit their layers.
void check(const std::string& folder, const std::map<std::string, Found>& found,
           const std::vector<NamedLinear>& layers) {
  std::vector<std::string> missing, unexpected;
  std::vector<Misshapen> misshapen;
  for (const auto& [name, matrices] : found) {
    const auto at = std::find_if(layers.begin(), layers.end(),
                                 [&wanted = name](const NamedLinear& linear) { return linear.name == wanted; });
    if (at == layers.end()) unexpected.push_back(name);
    if (!matrices.A.defined()) missing.push_back(file_name(name, 'A'));
    if (!matrices.B.defined()) missing.push_back(file_name(name, 'B'));
    if (at == layers.end() || !matrices.A.defined() || !matrices.B.defined()) continue;
    const int64_t rank = matrices.A.ndim() > 0 ? static_cast<int64_t>(matrices.A.size(0)) : 0;
    const std::vector<int64_t> of_a{rank, at->layer->in_features()}, of_b{at->layer->out_features(), rank};
    if (sizes_of(matrices.A) != of_a) misshapen.push_back({file_name(name, 'A'), sizes_of(matrices.A), of_a});
    if (sizes_of(matrices.B) != of_b) misshapen.push_back({file_name(name, 'B'), sizes_of(matrices.B), of_b});
  }
  if (!missing.empty() || !unexpected.empty() || !misshapen.empty())
    throw LoadError(folder, missing, unexpected, misshapen);
}

}  // namespace

void save_lora(const std::vector<NamedLinear>& layers, const std::string& folder, const std::string& base_model) {
  TensorMap tensors;
  const nn::LowRank* first = nullptr;
  for (const NamedLinear& linear : layers) {
    if (!linear.layer->lora) continue;
    if (first == nullptr) first = &*linear.layer->lora;
    tensors[file_name(linear.name, 'A')] = linear.layer->lora->A.detach();
    tensors[file_name(linear.name, 'B')] = linear.layer->lora->B.detach();
  }
  if (first == nullptr) throw UserError("save_lora: the model has no LoRA; with_lora adds it");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError(text::cat("save_lora: \"", folder, "\" cannot be created: ", error.message()));
  save_safetensors(join_path(folder, tensors_file), tensors, {{"format", "pt"}});
  write_file(join_path(folder, config_file), config_text(layers, *first, base_model));
}

void load_lora(const LinearCollector& model, const std::string& folder) {
  const std::string path = join_path(folder, config_file);
  const Config config(read_text(path), path);
  refuse_other_settings(config);
  const std::map<std::string, Found> found = read_matrices(folder);
  check(folder, found, model.layers);
  for (Tensor* tensor : model.tensors)
    if (tensor->defined() && tensor->requires_grad()) *tensor = tensor->detach();
  for (const NamedLinear& linear : model.layers) {
    const auto at = found.find(linear.name);
    if (at == found.end()) continue;
    const auto rank = static_cast<double>(at->second.A.size(0));
    nn::LowRank lora;
    lora.A = at->second.A.requires_grad_();
    lora.B = at->second.B.requires_grad_();
    lora.scale = config.number("lora_alpha", 8) / (config.boolean("use_rslora", false) ? std::sqrt(rank) : rank);
    lora.dropout = config.number("lora_dropout", 0);
    lora.training = false;
    linear.layer->lora = lora;
  }
}

}  // namespace fulgurite::hub::detail
