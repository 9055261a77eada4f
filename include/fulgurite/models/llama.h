#pragma once
#include <fulgurite/detail/requirements.h>

// LLaMA: RMS norm, rotary positions, grouped heads, SwiGLU (Touvron et al. 2023).
#include <cmath>
#include <string>
#include <vector>

#include <fulgurite/error.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace models {

/// Sizes of a Llama.
struct LlamaOptions {
  int64_t vocabulary = 256;
  int64_t layers = 4;
  int64_t heads = 8;
  int64_t key_value_heads = 4;  // heads / key_value_heads query heads share a key and a value
  int64_t width = 128;
  int64_t hidden = 344;  // width of the SwiGLU
  int64_t block = 64;    // the longest sequence
  double eps = 1e-5;
  double rotary_base = 10000;
};

/// Rotates pairs of features by an angle that grows with the position (Su et al. 2021): feature i of the first half is
/// paired with feature i of the second. x: [batch, heads, length, features]; the tables: [length, features / 2].
inline Tensor rotate(const Tensor& x, const Tensor& cosines, const Tensor& sines) {
  const std::vector<Tensor> halves = chunk(x, 2, -1);
  const Tensor first = halves[0] * cosines - halves[1] * sines;
  const Tensor second = halves[1] * cosines + halves[0] * sines;
  const Tensor rotated = cat({first, second}, -1);
  return rotated.to(x.dtype());
}

/// Cosines and sines for `rotate`: [length, features / 2] each.
inline std::pair<Tensor, Tensor> rotary_tables(int64_t length, int64_t features, double base) {
  const Tensor exponents =
      arange(0, features, 2, {.dtype = Dtype::f32}) * (-std::log(base) / static_cast<double>(features));
  const Tensor positions = unsqueeze(arange(0, length, 1, {.dtype = Dtype::f32}), 1);
  const Tensor angles = positions * exp(exponents);
  return {cos(angles), sin(angles)};
}

/// Keys and values of the positions so far: [batch, key_value_heads, length, features] each.
struct KeyValues {
  Tensor keys, values;
};

/// Causal attention with rotary embeddings; groups of query heads may share keys and values.
struct LlamaAttention {
  nn::Linear wq, wk, wv, wo;
  int64_t heads = 1, key_value_heads = 1;

  Tensor operator()(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    const Tensor query = rotate(by_head(wq(x), heads), cosines, sines);
    const KeyValues all = keys_and_values(x, cosines, sines);
    return attend(x, query, all, true);
  }

  /// For the position after `past`: x [batch, 1, width], and the tables' rows of that position. Also returns `past`
  /// extended by it.
  std::pair<Tensor, KeyValues> step(const Tensor& x, const Tensor& cosines, const Tensor& sines,
                                    const KeyValues& past) const {
    const Tensor query = rotate(by_head(wq(x), heads), cosines, sines);
    const KeyValues here = keys_and_values(x, cosines, sines);
    const Tensor keys = cat({past.keys, here.keys}, 2);
    const Tensor values = cat({past.values, here.values}, 2);
    const KeyValues all{keys, values};
    return {attend(x, query, all, false), all};
  }

 private:
  Tensor by_head(const Tensor& part, int64_t count) const {
    return transpose(reshape(part, {part.size(0), part.size(1), count, part.size(2) / count}), 1, 2);
  }
  KeyValues keys_and_values(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    const Tensor keys = rotate(by_head(wk(x), key_value_heads), cosines, sines);
    const Tensor values = by_head(wv(x), key_value_heads);
    return {keys, values};
  }
  Tensor attend(const Tensor& x, const Tensor& query, const KeyValues& all, bool is_causal) const {
    const bool is_grouped = heads != key_value_heads;
    const Tensor y = nn::scaled_dot_product_attention(query, all.keys, all.values, {}, 0.0, is_causal, {}, is_grouped);
    return wo(reshape(transpose(y, 1, 2), {x.size(0), x.size(1), x.size(2)}));
  }
};

/// down(silu(gate(x)) * up(x))
struct SwiGlu {
  nn::Linear gate, up, down;
  Tensor operator()(const Tensor& x) const {
    const Tensor opened = silu(gate(x));
    return down(opened * up(x));
  }
};

/// Attention and feed-forward layer, each with an RMS norm before it and a residual around it.
struct LlamaBlock {
  nn::RMSNorm attention_norm;
  LlamaAttention attention;
  nn::RMSNorm mlp_norm;
  SwiGlu mlp;

  Tensor operator()(const Tensor& x, const Tensor& cosines, const Tensor& sines) const {
    const Tensor y = x + attention(attention_norm(x), cosines, sines);
    return y + mlp(mlp_norm(y));
  }

  /// LlamaAttention::step for a complete block.
  std::pair<Tensor, KeyValues> step(const Tensor& x, const Tensor& cosines, const Tensor& sines,
                                    const KeyValues& past) const {
    const auto [attended, all] = attention.step(attention_norm(x), cosines, sines, past);
    const Tensor y = x + attended;
    return {y + mlp(mlp_norm(y)), all};
  }
};

/// A LLaMA: token indices [batch, length] of i64 to logits [batch, length, vocabulary].
struct Llama {
  nn::Embedding tokens;
  std::vector<LlamaBlock> blocks;
  nn::RMSNorm norm;
  nn::Linear output;
  Tensor cosines, sines;  // [block, width / heads / 2]

  /// Maps tokens [batch, length] to the scores of each one's successor: [batch, length, vocabulary].
  Tensor operator()(const Tensor& numbers) const {
    const Tensor cosine = narrow(cosines, 0, 0, numbers.size(1)), sine = narrow(sines, 0, 0, numbers.size(1));
    Tensor x = tokens(numbers);
    for (const LlamaBlock& block : blocks) x = block(x, cosine, sine);
    return output(norm(x));
  }

  /// The mean cross entropy of predicting `targets` [batch, length].
  Tensor loss(const Tensor& numbers, const Tensor& targets) const {
    const Tensor logits = (*this)(numbers);
    return nn::cross_entropy(reshape(logits, {-1, logits.size(2)}), reshape(targets, {-1}));
  }
};

/// A block with normal weights of deviation 0.02, smaller for those that end a residual branch.
inline LlamaBlock make_llama_block(const LlamaOptions& o) {
  if (o.heads < 1 || o.key_value_heads < 1 || o.width % (2 * o.heads) != 0 || o.heads % o.key_value_heads != 0)
    throw UserError("make_llama_block: width " + std::to_string(o.width) + " must be a multiple of twice the heads " +
                    std::to_string(o.heads) + ", and the heads one of key_value_heads " +
                    std::to_string(o.key_value_heads));
  const auto matrix = [](int64_t from, int64_t to, double deviation) {
    nn::Linear layer(from, to, false);
    nn::normal_(layer.weight, 0, deviation);
    return layer;
  };
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(o.layers));
  const int64_t key_value_width = o.width / o.heads * o.key_value_heads;
  LlamaBlock block;
  block.attention_norm = nn::RMSNorm(o.width, o.eps);
  block.attention.wq = matrix(o.width, o.width, 0.02);
  block.attention.wk = matrix(o.width, key_value_width, 0.02);
  block.attention.wv = matrix(o.width, key_value_width, 0.02);
  block.attention.wo = matrix(o.width, o.width, residual);
  block.attention.heads = o.heads;
  block.attention.key_value_heads = o.key_value_heads;
  block.mlp_norm = nn::RMSNorm(o.width, o.eps);
  block.mlp.gate = matrix(o.width, o.hidden, 0.02);
  block.mlp.up = matrix(o.width, o.hidden, 0.02);
  block.mlp.down = matrix(o.hidden, o.width, residual);
  return block;
}

/// Returns a model with fresh parameters.
inline Llama make_llama(const LlamaOptions& o) {
  Llama model;
  model.tokens = nn::Embedding(o.vocabulary, o.width);
  nn::normal_(model.tokens.weight, 0, 0.02);
  for (int64_t i = 0; i < o.layers; ++i) model.blocks.push_back(make_llama_block(o));
  model.norm = nn::RMSNorm(o.width, o.eps);
  model.output = nn::Linear(o.width, o.vocabulary, false);
  nn::normal_(model.output.weight, 0, 0.02);
  const auto [cosines, sines] = rotary_tables(o.block, o.width / o.heads, o.rotary_base);
  model.cosines = cosines;
  model.sines = sines;
  return model;
}

}  // namespace models
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
