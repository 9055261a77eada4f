#pragma once
#include <string>
#include <string_view>

#include <fulgurite/hub/gguf.h>
#include <fulgurite/io.h>

namespace fulgurite::hub::gguf {

/// The text of config.json. UserError for an architecture, or rotary positions, that the library does not have.
std::string config_text(const GgufFile& file, Dtype dtype);
/// The tensors under their names in transformers' files; codes under those of hub::save.
TensorMap converted_tensors(const GgufFile& file, const ConvertOptions& options);

/// The text of tokenizer.json. UserError for a kind of tokenizer that is not converted.
std::string tokenizer_text(const GgufFile& file);
std::string tokenizer_config_text(const GgufFile& file);
std::string generation_config_text(const GgufFile& file);

}  // namespace fulgurite::hub::gguf
