#pragma once
#include <optional>
#include <string>

#include <fulgurite/hub.h>

namespace fulgurite::cli {

/// The flags of `fulgurite generate` that are about a model of Hugging Face.
struct GenerateFlags {
  std::string model, adapter, prompt, dtype = "files", weights = "files";
  bool has_prompt = false;  // without one the prompt is read from stdin
  bool as_json = false;
  bool is_chat = false;  // the prompt is a message; without one, each line of stdin is
  std::string system;    // the system's message
  GenerateOptions options;
};

/// Writes the text after the prompt to stdout, as it is generated, or as one JSON object.
int generate_text(const GenerateFlags& flags);

/// The dtype of a flag: "files" (none), "f32", "bf16" or "f16".
std::optional<Dtype> dtype_of(const std::string& name);
/// The options of loading a model of the flags --dtype and --weights.
inline hub::LoadOptions load_options(const std::string& dtype, const std::string& weights) {
  return {.dtype = dtype_of(dtype), .weights = hub::weights_from_name(weights)};
}
/// "ViTForImageClassification", …; empty if the config has none.
inline std::string architecture_of(const hub::Config& config) {
  const std::vector<std::string> names = config.strings("architectures");
  return names.empty() ? "" : names.front();
}
inline bool is_image_classifier(const hub::Config& config) {
  return architecture_of(config).ends_with("ForImageClassification");
}
/// All of stdin.
std::string read_stdin();

}  // namespace fulgurite::cli
