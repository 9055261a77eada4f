#pragma once
#include <fulgurite/detail/requirements.h>

// GPT-2 (Radford et al. 2019) with the members of transformers: the path of a tensor is its name in a checkpoint.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/models/activation.h>
#include <fulgurite/models/key_value_cache.h>
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

/// Sizes of a Gpt2.
struct Gpt2Options {
  int64_t vocabulary = 50257;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t width = 768;
  int64_t block = 1024;  // the longest sequence
  int64_t hidden = 0;    // of the feed-forward layer; 0: 4 * width
  double eps = 1e-5;
  std::string activation = "gelu_pytorch_tanh";  // a name of models::activate
  bool tied = true;                              // the output layer has the embedding's weight
  bool scales_by_layer = false;                  // layer i divides its scores by i + 1
};

/// x weight + bias: a linear layer whose weight is stored transposed, [in, out].
struct Conv1D {
  Tensor weight, bias;
  Tensor operator()(const Tensor& x) const { return matmul(x, weight) + bias; }
};

/// Causal attention of GPT-2.
struct Gpt2Attention {
  Conv1D c_attn, c_proj;
  int64_t heads = 1;
  double scale = 1;

  Tensor operator()(const Tensor& x) const {
    const std::vector<Tensor> parts = query_key_value(x);
    return join(nn::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true, Float(scale)));
  }
  /// For rows at `positions`, whose keys and values it writes into the cache, in place.
  Tensor step(const Tensor& x, const Tensor& positions, const Tensor& keys, const Tensor& values) const {
    const std::vector<Tensor> parts = query_key_value(x);
    write_rows(keys, positions, parts[1]);
    write_rows(values, positions, parts[2]);
    const Tensor mask = causal_mask(positions, arange(keys.size(2)));
    return join(attend_rows(parts[0], keys, values, mask, Float(scale)));
  }

 private:
  std::vector<Tensor> query_key_value(const Tensor& x) const {
    std::vector<Tensor> parts = split(c_attn(x), x.size(2), 2);
    for (Tensor& part : parts) part = transpose(reshape(part, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
    return parts;
  }
  Tensor join(const Tensor& y) const {
    return c_proj(reshape(transpose(y, 1, 2), {y.size(0), y.size(2), y.size(1) * y.size(3)}));
  }
};

/// The feed-forward layer of GPT-2.
struct Gpt2Mlp {
  Conv1D c_fc, c_proj;
  std::string activation = "gelu_pytorch_tanh";

  Tensor operator()(const Tensor& x) const { return c_proj(activate(c_fc(x), activation)); }
};

/// Attention and feed-forward layer, each with a layer norm before it and a residual around it.
struct Gpt2Block {
  nn::LayerNorm ln_1;
  Gpt2Attention attn;
  nn::LayerNorm ln_2;
  Gpt2Mlp mlp;

  Tensor operator()(const Tensor& x) const {
    const Tensor y = x + attn(ln_1(x));
    return y + mlp(ln_2(y));
  }
  Tensor step(const Tensor& x, const Tensor& positions, const Tensor& keys, const Tensor& values) const {
    const Tensor y = x + attn.step(ln_1(x), positions, keys, values);
    return y + mlp(ln_2(y));
  }
};

/// GPT-2: token indices [batch, length] of i64 to logits [batch, length, vocabulary].
struct Gpt2 {
  /// The layers below the output layer.
  struct Body {
    nn::Embedding wte, wpe;
    std::vector<Gpt2Block> h;
    nn::LayerNorm ln_f;

    Tensor operator()(const Tensor& tokens) const {
      const Tensor token = wte(tokens);
      Tensor x = token + narrow(wpe.weight, 0, 0, tokens.size(1));
      for (const Gpt2Block& block : h) x = block(x);
      return ln_f(x);
    }
    /// For tokens at `positions` (i64 [length]), whose predecessors are in the cache.
    Tensor step(const Tensor& tokens, const Tensor& positions, const KeyValueCache& cache) const {
      const Tensor token = wte(tokens);
      Tensor x = token + wpe(positions);
      for (size_t i = 0; i < h.size(); ++i) x = h[i].step(x, positions, cache.keys[i], cache.values[i]);
      return ln_f(x);
    }
  };
  Body transformer;
  nn::Linear lm_head;  // has the embedding's weight in a tied model

  /// Maps tokens [batch, length] to the scores of each one's successor: [batch, length, vocabulary].
  Tensor operator()(const Tensor& tokens) const { return lm_head(transformer(tokens)); }
  /// As Llama::step.
  Tensor step(const Tensor& tokens, const Tensor& positions, const Tensor& rows, const KeyValueCache& cache) const {
    return lm_head(index_select(transformer.step(tokens, positions, cache), 1, rows));
  }
  /// The most tokens of a text.
  int64_t max_length() const { return transformer.wpe.weight.size(0); }
  /// The mean cross entropy of predicting `targets` [batch, length]; those of -100 do not count.
  Tensor loss(const Tensor& tokens, const Tensor& targets) const {
    const Tensor logits = (*this)(tokens);
    return nn::cross_entropy(reshape(logits, {-1, logits.size(2)}), reshape(targets, {-1}));
  }

  /// The model that a config.json of the family "gpt2" describes.
  static Gpt2 from_config(const hub::Config& config, const LayerMaker& make);
  /// Files on the hub lack the beginning "transformer.", and have masks that the model computes.
  static constexpr std::string_view optional_prefix = "transformer.";
  static bool is_ignorable(std::string_view name) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
  }
};

/// Returns a model with GPT-2's initial values: normal with deviation 0.02, smaller for the layers that end a residual
/// branch. UserError if the width is not a multiple of the heads.
Gpt2 make_gpt2(const Gpt2Options& options, const LayerMaker& make = {});
/// A cache with room for `capacity` positions of each text, for `Gpt2::step`.
KeyValueCache make_cache(const Gpt2& model, int64_t capacity, int64_t batch = 1);

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
