#pragma once
#include <string>

#include <fulgurite/tokenizer.h>

#include "hub/model_folder.h"
#include "tokenizer/tokenizer_text.h"

namespace fulgurite::test {

/// A Whisper for chunks of one second, with the vocabulary of `speech_tokenizer_text`.
inline std::string small_whisper_config(const std::string& more = "") {
  return R"({"model_type": "whisper", "vocab_size": 76, "d_model": 16, "encoder_layers": 1, "decoder_layers": 2,
  "encoder_attention_heads": 2, "decoder_attention_heads": 4, "encoder_ffn_dim": 20, "decoder_ffn_dim": 24,
  "num_mel_bins": 8, "max_source_positions": 50, "max_target_positions": 24, "decoder_start_token_id": 17,
  "pad_token_id": 16, "dtype": "float32")" +
         more + "}\n";
}

/// Sixteen letters, the special tokens of Whisper from 16 to 24, and 51 times of steps of 0.02 seconds.
inline std::string speech_tokenizer_text() {
  std::string letters, special;
  for (int i = 0; i < 16; ++i)
    letters += (i > 0 ? ", \"" : "\"") + std::string(1, static_cast<char>('a' + i)) + "\": " + std::to_string(i);
  int id = 16;
  for (const char* token : {"endoftext", "startoftranscript", "en", "de", "translate", "transcribe", "startofprev",
                            "nospeech", "notimestamps"}) {
    special += std::string(id > 16 ? ", " : "") + R"({"id": )" + std::to_string(id) + R"(, "content": "<|)" + token +
               R"(|>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})";
    ++id;
  }
  return tokenizer_text(R"({"type": "BPE", "merges": [], "vocab": {)" + letters + "}}",
                        {{"added_tokens", "[" + special + "]"},
                         {"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})"},
                         {"decoder", R"({"type": "ByteLevel"})"}});
}

/// A model of random weights; its parameters have the deviation `deviation`.
inline models::Whisper small_whisper(const std::string& more = "", double deviation = 0.5) {
  manual_seed(16);
  auto model = models::Whisper::from_config(hub::Config(small_whisper_config(more)), models::LayerMaker());
  const NoGrad no_grad;
  for (const Tensor& parameter : nn::parameters(model)) nn::normal_(parameter, 0.0, deviation);
  return model;
}

/// Writes a folder of a Whisper with its tokenizer and all settings.
inline void write_whisper(const TestFolder& folder, const models::Whisper& model, const std::string& generation,
                          const std::string& more = "") {
  write_text(folder.file("config.json"), small_whisper_config(more));
  hub::save(model, folder.path, {.like = folder.path});
  write_text(folder.file("tokenizer.json"), speech_tokenizer_text());
  write_text(folder.file("generation_config.json"), generation);
  write_text(folder.file("preprocessor_config.json"),
             R"({"feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 8, "chunk_length": 1})");
}

}  // namespace fulgurite::test
