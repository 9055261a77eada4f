#include <algorithm>
#include <filesystem>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>

#include "hub/files.h"
#include "hub/gguf/gguf_model.h"
#include "hub/quantization/quantized_layers.h"
#include "io/atomic_file.h"
#include "support/text/text.h"

namespace fulgurite::hub {

namespace {

bool has_codes(const TensorMap& tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto& tensor) { return tensor.first.ends_with(".weight.codes"); });
}

}  // namespace

void convert_gguf(const std::string& path, const std::string& folder, const ConvertOptions& options) {
  if (options.dtype != Dtype::f32 && options.dtype != Dtype::bf16 && options.dtype != Dtype::f16)
    throw UserError("convert_gguf: dtype must be f32, bf16 or f16");
  const NoGrad no_grad;
  const GgufFile file(path);
  // Files that are not supported are refused before anything is written.
  std::string config = gguf::config_text(file, options.dtype);
  const std::string tokenizer = gguf::tokenizer_text(file);
  const TensorMap tensors = gguf::converted_tensors(file, options);
  if (has_codes(tensors)) config = detail::with_quantization(config);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UserError(text::cat("convert_gguf: \"", folder, "\" cannot be created: ", error.message()));
  save_safetensors(join_path(folder, "model.safetensors"), tensors, {{"format", "pt"}});
  write_file(join_path(folder, "tokenizer.json"), tokenizer);
  write_file(join_path(folder, "tokenizer_config.json"), gguf::tokenizer_config_text(file));
  write_file(join_path(folder, "generation_config.json"), gguf::generation_config_text(file));
  if (const std::string chat = file.string("tokenizer.chat_template", ""); !chat.empty())
    write_file(join_path(folder, "chat_template.jinja"), chat);
  write_file(join_path(folder, "config.json"), config);
}

}  // namespace fulgurite::hub
