#include "cli/gpt_run.h"

#include <filesystem>

#include "io/json.h"

namespace fulgurite::cli {

namespace {

// Every setting once: its name and where it is kept.
template <class Config, class Visit>
void each_setting(Config& c, Visit&& visit) {
  visit("layers", c.layers);
  visit("heads", c.heads);
  visit("width", c.width);
  visit("block", c.block);
  visit("batch", c.batch);
  visit("steps", c.steps);
  visit("warmup", c.warmup);
  visit("lr", c.lr);
  visit("min_lr", c.min_lr);
  visit("beta1", c.beta1);
  visit("beta2", c.beta2);
  visit("weight_decay", c.weight_decay);
  visit("clip", c.clip);
  visit("dropout", c.dropout);
  visit("seed", c.seed);
  visit("bias", c.bias);
  visit("dtype", c.dtype);
}

std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return json::number(value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(const std::string& value) { return value; }

TensorMap with_prefix(const TensorMap& tensors, std::string_view prefix) {
  TensorMap out;
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = tensor;
  return out;
}

// What was not written by us could otherwise ask for a model of no heads or without end.
void check_sizes(const TrainConfig& c) {
  constexpr int64_t largest = 1 << 20;
  for (const int64_t size : {c.layers, c.heads, c.width, c.block, c.batch})
    if (size < 1 || size > largest) throw UserError("a size is out of range");
  if (c.width % c.heads != 0) throw UserError("width is not a multiple of heads");
  if (!(c.dropout >= 0 && c.dropout < 1)) throw UserError("dropout is out of range");
  if (c.dtype != "f32" && c.dtype != "bf16") throw UserError("dtype is neither f32 nor bf16");
}

}  // namespace

std::optional<Dtype> autocast_of(const TrainConfig& config) {
  return config.dtype == "bf16" ? std::optional(Dtype::bf16) : std::nullopt;
}

std::string to_json(const TrainConfig& config) {
  std::string out;
  each_setting(config, [&](const char* name, const auto& value) {
    const bool is_text = std::is_same_v<std::decay_t<decltype(value)>, std::string>;
    out += (out.empty() ? "{" : ", ") + json::quote(name) + ": " + (is_text ? json::quote(text_of(value)) : text_of(value));
  });
  return out + "}";
}

TrainConfig config_from_json(const std::string& text) {
  const json::Node node = json::parse(text);
  TrainConfig config;
  each_setting(config, [&](const char* name, auto& value) {
    using T = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string>) value = node.at(name, json::Node::Kind::string).string;
    else if constexpr (std::is_same_v<T, bool>) value = node.at(name, json::Node::Kind::boolean).boolean;
    else if constexpr (std::is_same_v<T, double>) value = node.at(name, json::Node::Kind::floating).floating;
    else value = node.at(name, json::Node::Kind::integer).integer;
  });
  return config;
}

std::string difference(const TrainConfig& saved, const TrainConfig& asked) {
  std::vector<std::string> values;
  each_setting(saved, [&](const char*, const auto& value) { values.push_back(text_of(value)); });
  std::string found;
  size_t i = 0;
  each_setting(asked, [&](const char* name, const auto& value) {
    const std::string& before = values[i++];
    if (found.empty() && before != text_of(value))
      found = std::string(name) + " is " + before + " in the checkpoint, " + text_of(value) + " asked for";
  });
  return found;
}

std::string checkpoint_path(const std::string& folder) { return folder + "/checkpoint/checkpoint.safetensors"; }

void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint) {
  Metadata metadata = checkpoint.extra;
  metadata["format"] = "fulgurite-gpt-1";
  metadata["config"] = to_json(checkpoint.config);
  metadata["vocabulary"] = checkpoint.vocabulary;
  metadata["step"] = std::to_string(checkpoint.step);
  save_safetensors(checkpoint_path(folder), checkpoint.tensors, metadata);
}

Checkpoint load_checkpoint(const std::string& folder) {
  std::string path = checkpoint_path(folder);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    const std::string inside = folder + "/checkpoint.safetensors";
    if (std::filesystem::exists(inside, error)) path = inside;
    else throw UserError("there is no checkpoint in " + folder);
  }
  Checkpoint checkpoint;
  Metadata metadata = load_safetensors_metadata(path);
  if (metadata["format"] != "fulgurite-gpt-1") throw UserError(path + " is not a checkpoint of fulgurite train");
  try {
    checkpoint.config = config_from_json(metadata["config"]);
    check_sizes(checkpoint.config);
    checkpoint.step = std::stoll(metadata["step"]);
    if (checkpoint.step < 0 || checkpoint.step > checkpoint.config.steps) throw UserError("its step is not one of the run's");
    if (metadata["vocabulary"].empty()) throw UserError("its vocabulary is empty");
  } catch (const std::exception& problem) {
    throw UserError(path + " has a damaged configuration: " + problem.what());
  }
  checkpoint.vocabulary = metadata["vocabulary"];
  checkpoint.extra = metadata;
  checkpoint.tensors = load_safetensors(path);
  return checkpoint;
}

models::Gpt make_model(const TrainConfig& config, int64_t vocabulary) {
  return models::make_gpt({.vocabulary = vocabulary, .layers = config.layers, .heads = config.heads, .width = config.width,
                           .block = config.block, .dropout = config.dropout, .bias = config.bias});
}

void load_model(const models::Gpt& model, const TensorMap& tensors) {
  try {
    nn::load_state_dict(model, with_prefix(tensors, "model."));
  } catch (const UserError& error) {
    throw UserError(std::string("the checkpoint does not fit the model: ") + error.what());
  }
}

}  // namespace fulgurite::cli
