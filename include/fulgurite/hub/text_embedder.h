#pragma once
#include <fulgurite/detail/requirements.h>

// Vectors of texts, as models of sentence-transformers give them.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/hub/checkpoint.h>
#include <fulgurite/jit.h>
#include <fulgurite/models/bert.h>
#include <fulgurite/tokenizer.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

/// The way from a text's features, one row a token, to its vector.
enum class Pooling { mean, first_token, max, mean_of_root };

/// Options of TextEmbedder.
struct EmbedOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  Pooling pooling = Pooling::mean;
  bool normalize = false;    // to length 1
  int64_t max_tokens = 512;  // of a text, with special tokens; the rest is cut off
  int64_t batch_size = 32;   // texts of one call of the model
};

/// Embeds texts with a BERT. The model is compiled for a few lengths, to which texts are padded.
class TextEmbedder {
 public:
  TextEmbedder(models::Bert model, Tokenizer text, const EmbedOptions& options = {});
  /// Loads a folder of sentence-transformers: pooling, normalization and length come from modules.json and the files
  /// that it names. Other folders of a BERT have the mean of all tokens. UserError for modules that the library does
  /// not have.
  static TextEmbedder load(const std::string& folder, const hub::LoadOptions& options = {});

  /// Returns the vectors of texts: [texts, width], f32. UserError for a text that is not UTF-8.
  Tensor embed(const std::vector<std::string>& texts) const;
  /// The size of a vector.
  int64_t width() const { return model_.embeddings.LayerNorm.weight.size(0); }
  const EmbedOptions& options() const { return options_; }
  const Tokenizer& tokenizer() const { return text_; }

 private:
  using Step = std::function<Tensor(const models::Bert& model, const Tensor& tokens, const Tensor& mask)>;
  models::Bert model_;
  Tokenizer text_;
  EmbedOptions options_;
  Step step_;
};

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
