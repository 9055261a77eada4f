#include "cli/train/gpt_run.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "cli/train/checksum.h"
#include "io/json.h"

namespace fulgurite::cli {

namespace {

// Every setting once: its name and its member.
template <class Visit>
void each_setting(Visit&& visit) {
  visit("layers", &TrainConfig::layers);
  visit("heads", &TrainConfig::heads);
  visit("width", &TrainConfig::width);
  visit("block", &TrainConfig::block);
  visit("batch", &TrainConfig::batch);
  visit("steps", &TrainConfig::steps);
  visit("warmup", &TrainConfig::warmup);
  visit("lr", &TrainConfig::lr);
  visit("min_lr", &TrainConfig::min_lr);
  visit("beta1", &TrainConfig::beta1);
  visit("beta2", &TrainConfig::beta2);
  visit("weight_decay", &TrainConfig::weight_decay);
  visit("clip", &TrainConfig::clip);
  visit("dropout", &TrainConfig::dropout);
  visit("seed", &TrainConfig::seed);
  visit("bias", &TrainConfig::bias);
  visit("dtype", &TrainConfig::dtype);
}

// Settings that a run may continue with in another value: the model and the order of its batches do not depend on them.
constexpr std::string_view may_change[] = {"steps", "warmup",       "lr",   "min_lr", "beta1",
                                           "beta2", "weight_decay", "clip", "dropout"};

bool may_change_setting(std::string_view name) {
  return std::find(std::begin(may_change), std::end(may_change), name) != std::end(may_change);
}

// "weight-decay" of "weight_decay".
std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
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

// A foreign checkpoint could otherwise request a model without heads or of unbounded size.
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
  each_setting([&](const char* name, auto member) {
    const auto& value = config.*member;
    const bool is_text = std::is_same_v<std::decay_t<decltype(value)>, std::string>;
    out += (out.empty() ? "{" : ", ") + json::quote(name) + ": " +
           (is_text ? json::quote(text_of(value)) : text_of(value));
  });
  return out + "}";
}

TrainConfig config_from_json(const std::string& text) {
  const json::Node node = json::parse(text);
  TrainConfig config;
  each_setting([&](const char* name, auto member) {
    auto& value = config.*member;
    using T = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<T, std::string>) value = node.at(name, json::Node::Kind::string).string;
    else if constexpr (std::is_same_v<T, bool>) value = node.at(name, json::Node::Kind::boolean).boolean;
    else if constexpr (std::is_same_v<T, double>) value = node.at(name, json::Node::Kind::floating).floating;
    else value = node.at(name, json::Node::Kind::integer).integer;
  });
  return config;
}

std::string Checkpoint::value_of(const std::string& key) const {
  const auto found = extra.find(key);
  return found == extra.end() ? std::string() : found->second;
}

TrainConfig resumed_config(const Checkpoint& checkpoint, const TrainConfig& asked,
                           const std::vector<std::string>& given) {
  const auto is_given = [&](const std::string& name) {
    return std::find(given.begin(), given.end(), flag_of(name)) != given.end();
  };
  TrainConfig config = checkpoint.config;
  each_setting([&](const char* name, auto member) {
    if (!is_given(name) || text_of(config.*member) == text_of(asked.*member)) return;
    if (!may_change_setting(name))
      throw UserError(std::string("the checkpoint is of another run: ") + name + " is " + text_of(config.*member) +
                      " in the checkpoint, " + text_of(asked.*member) + " asked for");
    config.*member = asked.*member;
  });
  if (!is_given("min_lr")) config.min_lr = std::min(config.min_lr, config.lr);
  config.steps = std::max(config.steps, checkpoint.step);
  return config;
}

std::string checkpoint_path(const std::string& folder) { return folder + "/checkpoint/checkpoint.safetensors"; }

void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint) {
  Metadata metadata = checkpoint.extra;
  metadata["format"] = "fulgurite-gpt-1";
  metadata["config"] = to_json(checkpoint.config);
  metadata["vocabulary"] = checkpoint.vocabulary;
  metadata["step"] = std::to_string(checkpoint.step);
  metadata["checksum"] = checksum(checkpoint.tensors);
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
  const SafetensorsFile file(path);
  Metadata metadata = file.metadata();
  if (metadata["format"] != "fulgurite-gpt-1") throw UserError(path + " is not a checkpoint of fulgurite train");
  try {
    checkpoint.config = config_from_json(metadata["config"]);
    check_sizes(checkpoint.config);
    checkpoint.step = std::stoll(metadata["step"]);
    if (checkpoint.step < 0 || checkpoint.step > checkpoint.config.steps)
      throw UserError("its step is not one of the run's");
    if (metadata["vocabulary"].empty()) throw UserError("its vocabulary is empty");
  } catch (const std::exception& problem) {
    throw UserError(path + " has a damaged configuration: " + problem.what());
  }
  checkpoint.vocabulary = metadata["vocabulary"];
  checkpoint.extra = metadata;
  checkpoint.tensors = file.load_all();
  if (const std::string expected = checkpoint.value_of("checksum");
      !expected.empty() && checksum(checkpoint.tensors) != expected)
    throw UserError(path + " is damaged: its data do not have the checksum that was saved with them");
  return checkpoint;
}

models::Gpt make_model(const TrainConfig& config, int64_t vocabulary) {
  return models::make_gpt({.vocabulary = vocabulary,
                           .layers = config.layers,
                           .heads = config.heads,
                           .width = config.width,
                           .block = config.block,
                           .dropout = config.dropout,
                           .bias = config.bias});
}

void load_model(const models::Gpt& model, const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors)
    if (name.starts_with("model.") && is_floating(tensor.dtype()) && !isfinite(tensor).all().item<bool>())
      throw UserError("the checkpoint cannot be used: " + name + " has elements that are not finite");
  try {
    nn::load_state_dict(model, with_prefix(tensors, "model."));
  } catch (const UserError& error) {
    throw UserError(std::string("the checkpoint does not fit the model: ") + error.what());
  }
}

}  // namespace fulgurite::cli
