#pragma once
#include <fulgurite/detail/requirements.h>

// BERT (Devlin et al. 2019) with the members of transformers: the path of a tensor is its name in a checkpoint.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/models/activation.h>
#include <fulgurite/models/layer_maker.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace hub {
class Config;
}

namespace models {

/// Sizes of a Bert.
struct BertOptions {
  int64_t vocabulary = 30522;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t width = 768;
  int64_t hidden = 3072;
  int64_t block = 512;  // rows of the table of positions
  int64_t types = 2;    // rows of the table of token types
  double eps = 1e-12;
  std::string activation = "gelu";   // a name of models::activate
  int64_t first_position = 0;        // 2 in RoBERTa
  std::optional<int64_t> padding{};  // a token whose embedding gets no gradient
};

/// Layer norm of the sum of words, positions and types.
struct BertEmbeddings {
  nn::Embedding word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm LayerNorm;
  int64_t first_position = 0;

  /// `types` [batch, length]; undefined: all 0.
  Tensor operator()(const Tensor& tokens, const Tensor& types) const {
    const Tensor words = word_embeddings(tokens);
    const Tensor positions = narrow(position_embeddings.weight, 0, first_position, tokens.size(1));
    const Tensor kinds = types.defined() ? token_type_embeddings(types) : narrow(token_type_embeddings.weight, 0, 0, 1);
    const Tensor sum = words + kinds;
    return LayerNorm(sum + positions);
  }
};

/// Attention of every token to every other one, with a residual and a layer norm after it.
struct BertAttention {
  struct Self {
    nn::Linear query, key, value;
    int64_t heads = 1;

    /// `mask` [batch, 1, 1, length] is true for tokens to attend to; undefined: all.
    Tensor operator()(const Tensor& x, const Tensor& mask) const {
      const Tensor q = divided(query(x)), k = divided(key(x)), v = divided(value(x));
      const Tensor y = nn::scaled_dot_product_attention(q, k, v, mask);
      return reshape(transpose(y, 1, 2), {x.size(0), x.size(1), x.size(2)});
    }

   private:
    Tensor divided(const Tensor& y) const {
      return transpose(reshape(y, {y.size(0), y.size(1), heads, y.size(2) / heads}), 1, 2);
    }
  };
  struct Output {
    nn::Linear dense;
    nn::LayerNorm LayerNorm;
    Tensor operator()(const Tensor& y, const Tensor& residual) const { return LayerNorm(dense(y) + residual); }
  };
  Self self;
  Output output;

  Tensor operator()(const Tensor& x, const Tensor& mask) const { return output(self(x, mask), x); }
};

/// Attention and a feed-forward layer, each with a layer norm after its residual.
struct BertLayer {
  struct Intermediate {
    nn::Linear dense;
    std::string activation = "gelu";

    Tensor operator()(const Tensor& x) const { return activate(dense(x), activation); }
  };
  BertAttention attention;
  Intermediate intermediate;
  BertAttention::Output output;

  Tensor operator()(const Tensor& x, const Tensor& mask) const {
    const Tensor y = attention(x, mask);
    return output(intermediate(y), y);
  }
};

/// BERT without a head: token indices [batch, length] of i64 to features [batch, length, width].
struct Bert {
  struct Encoder {
    std::vector<BertLayer> layer;
  };
  struct Pooler {
    nn::Linear dense;
  };
  BertEmbeddings embeddings;
  Encoder encoder;
  Pooler pooler;  // undefined in files without one

  /// `mask` [batch, length] of bool or i64 is true, or 1, for tokens and false for padding behind them; undefined: all
  /// are tokens. `types` [batch, length] is 1 for the tokens of a second text; undefined: all 0.
  Tensor operator()(const Tensor& tokens, const Tensor& mask = {}, const Tensor& types = {}) const {
    const Tensor attended =
        mask.defined() ? reshape(mask.to(Dtype::boolean), {mask.size(0), 1, 1, mask.size(1)}) : Tensor();
    Tensor x = embeddings(tokens, types);
    for (const BertLayer& layer : encoder.layer) x = layer(x, attended);
    return x;
  }
  /// The features of each row's first token, transformed: [batch, width].
  Tensor pooled(const Tensor& features) const { return tanh(pooler.dense(select(features, 1, 0))); }

  /// The model that a config.json of one of the families bert, roberta and xlm-roberta describes.
  static Bert from_config(const hub::Config& config, const LayerMaker& make);
  /// Files of models with a head name the body, and have the head's tensors too.
  static constexpr std::array<std::string_view, 2> extra_prefixes = {"bert.", "roberta."};
  static bool is_ignorable(std::string_view name) {
    return name.ends_with("position_ids") || name.starts_with("cls.") || name.starts_with("lm_head.") ||
           name.starts_with("classifier.") || name.starts_with("qa_outputs.");
  }
  static bool is_optional(std::string_view name) { return name.starts_with("pooler."); }
};

/// Returns a model with BERT's initial values: normal with deviation 0.02. UserError if the width is not a multiple of
/// the heads.
Bert make_bert(const BertOptions& options, const LayerMaker& make = {});

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
