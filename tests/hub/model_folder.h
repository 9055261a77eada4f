#pragma once
#include <fstream>
#include <iterator>
#include <string>

#include <fulgurite/hub.h>
#include <fulgurite/io.h>

#include "io/test_folder.h"

namespace fulgurite::test {

inline std::string small_llama_config(const std::string& more = "") {
  return R"({"model_type": "llama", "vocab_size": 13, "hidden_size": 16, "intermediate_size": 24,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-05,
  "max_position_embeddings": 32, "dtype": "float32")" +
         more + "}\n";
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The tensors of a model that files have.
template <class Model>
TensorMap tensors_in_files(Model model) {
  TensorMap out;
  for (const auto& slot : hub::detail::slots_of(model)) out[slot.name] = *slot.tensor;
  return out;
}

/// The model that small_llama_config() describes, with fresh parameters.
inline models::Llama small_llama(const std::string& more = "") {
  manual_seed(7);
  return models::Llama::from_config(hub::Config(small_llama_config(more)), models::LayerMaker());
}

}  // namespace fulgurite::test
