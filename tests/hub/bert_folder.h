#pragma once
#include <fulgurite/hub.h>

#include "hub/model_folder.h"
#include "tokenizer/tokenizer_text.h"

namespace fulgurite::test {

inline const std::string small_bert_config = R"({"model_type": "bert", "vocab_size": 9, "hidden_size": 8,
  "intermediate_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 24,
  "dtype": "float32"})";

inline models::Bert small_bert() {
  manual_seed(7);
  auto model = models::Bert::from_config(hub::Config(small_bert_config), models::LayerMaker());
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, 0.4);
  return model;
}

/// Words are tokens between [CLS] and [SEP].
inline std::string small_bert_tokenizer() {
  return tokenizer_text(
      R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
          "max_input_chars_per_word": 100, "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "red": 4,
          "green": 5, "blue": 6}})",
      {{"pre_tokenizer", R"({"type": "BertPreTokenizer"})"},
       {"post_processor", R"({"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]})"}});
}

/// Writes a folder of the small model.
inline void write_bert(const TestFolder& folder, const models::Bert& model) {
  write_text(folder.file("config.json"), small_bert_config);
  write_text(folder.file("tokenizer.json"), small_bert_tokenizer());
  hub::save(model, folder.path, {.like = folder.path});
}

}  // namespace fulgurite::test
