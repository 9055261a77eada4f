#pragma once
#include <fulgurite/detail/requirements.h>

// GGUF, the format of llama.cpp: one file with a model's configuration, tokenizer and quantized tensors.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/detail/given.h>
#include <fulgurite/dtype.h>
#include <fulgurite/quantized_weight.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {

/// The header's entry of one tensor.
struct GgufInfo {
  std::string type;  // "F32", "Q4_1", …
  std::vector<int64_t> shape;
  uint64_t offset = 0, bytes = 0;  // in the file
};

/// A GGUF file (versions 2 and 3): the header is read when it is opened, tensors when they are loaded. A value of
/// another type than the one that is read is a UserError that names the file and the key.
class GgufFile {
 public:
  /// UserError naming the file if it is missing, truncated, malformed or of another format.
  explicit GgufFile(const std::string& path);

  /// The tensors' names in the order of the header.
  const std::vector<std::string>& names() const;
  bool contains(std::string_view name) const;
  /// UserError if there is no such tensor.
  const GgufInfo& info(std::string_view name) const;
  /// Reads one tensor. Quantized ones become f32: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K; F16 and BF16 keep
  /// their dtypes. UserError for other types.
  Tensor load(std::string_view name) const;
  /// Reads the codes of a matrix of type Q8_0, Q4_0 or Q4_1; none for other tensors.
  std::optional<nn::QuantizedWeight> load_codes(std::string_view name) const;

  bool has(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t otherwise) const;
  double number(std::string_view key, double otherwise) const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::string string(std::string_view key, std::string_view otherwise) const;
  /// Lists; empty if the key is absent.
  std::vector<std::string> strings(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Options of `convert_gguf`.
struct ConvertOptions {
  fulgurite::detail::NamedMembers named_members = fulgurite::detail::NamedMembers();
  Dtype dtype = Dtype::f32;  // of the tensors
  bool keeps_codes = false;  // linear layers of Q8_0, Q4_0 and Q4_1 keep their codes: only `hub::load` reads the folder
};

/// Writes a folder that transformers and `hub::load` read: config.json, tokenizer.json with the tokenizer's and the
/// chat template's files, generation_config.json and model.safetensors. UserError for an architecture (llama, qwen2 and
/// qwen3 are converted) or a tokenizer that the library does not have.
void convert_gguf(const std::string& file, const std::string& folder, const ConvertOptions& options = {});

}  // namespace hub
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
