#include <fulgurite/error.h>
#include <fulgurite/random.h>
#include <fulgurite/training.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::training {

namespace {

constexpr std::string_view generator_name = "generator";  // without a dot: no part's tensor has the name

}  // namespace

void save_checkpoint(const std::string& path, const std::map<std::string, TensorMap>& parts, SourceLocation at) {
  TensorMap all;
  for (const auto& [part, state] : parts) {
    if (part.empty() || part.find('.') != std::string::npos)
      throw UserError(text::cat("training::save_checkpoint: a part cannot be named \"", printable(part), "\""), at);
    for (const auto& [name, tensor] : state) all[text::cat(part, ".", name)] = tensor;
  }
  all[std::string(generator_name)] = get_rng_state(at);
  save_safetensors(path, all, {{"format", "fulgurite checkpoint"}});
}

std::map<std::string, TensorMap> load_checkpoint(const std::string& path, const std::vector<std::string>& wanted,
                                                 SourceLocation at) {
  TensorMap all = load_safetensors(path);
  const auto generator = all.find(std::string(generator_name));
  if (generator == all.end())
    throw UserError(text::cat(path, " is not a checkpoint of training::save_checkpoint: it has no generator"), at);
  std::map<std::string, TensorMap> parts;
  for (const auto& [name, tensor] : all)
    if (const size_t dot = name.find('.'); dot != std::string::npos)
      parts[name.substr(0, dot)][name.substr(dot + 1)] = tensor;
  for (const std::string& part : wanted)
    if (parts.find(part) == parts.end()) throw UserError(text::cat(path, " has no part \"", printable(part), "\""), at);
  set_rng_state(generator->second, at);
  return parts;
}

}  // namespace fulgurite::training
