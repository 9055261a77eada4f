// Attention of several heads.
#include <fulgurite/attention_layers.h>

#include <cmath>
#include <limits>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/init.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor new_parameter(const Dims& sizes, Dtype dtype, SourceLocation at) {
  return zeros(sizes, {.dtype = dtype, .requires_grad = true}, at);
}

/// A mask to be added to scores, from a floating one or one that is true where attention is not allowed.
Tensor additive(const Tensor& mask, Dtype dtype, SourceLocation at) {
  if (!mask.defined()) return {};
  if (is_floating(mask.dtype())) return mask.to(dtype, at);
  if (mask.dtype() != Dtype::boolean)
    throw UserError(text::cat("MultiheadAttention: a mask is boolean or floating, not ", type_text(mask)), at);
  return masked_fill(zeros(Dims(mask.shape()), {.dtype = dtype}, at), mask, -infinity, at);
}

/// [L, N, width] as [N, heads, L, width / heads].
Tensor by_heads(const Tensor& x, int64_t heads, SourceLocation at) {
  const Int length = x.size(0), batch = x.size(1), width = x.size(2);
  return permute(reshape(x, {length, batch, heads, width / heads}, at), {1, 2, 0, 3}, at);
}

void check_input(const Tensor& x, const char* name, int64_t dims, SourceLocation at) {
  if (!x.defined()) throw UserError(text::cat("MultiheadAttention: ", name, " is an undefined tensor"), at);
  if (x.ndim() != dims || (dims != 2 && dims != 3))
    throw UserError(text::cat("MultiheadAttention: query, key and value all have 2 or all have 3 dimensions; ", name,
                              " is ", type_text(x)),
                    at);
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t width, int64_t heads, const MultiheadAttentionOptions& o,
                                       SourceLocation at)
    : embed_dim(width),
      num_heads(heads),
      dropout(o.dropout),
      add_zero_attn(o.add_zero_attn),
      batch_first(o.batch_first) {
  if (heads < 1 || width < 1 || width % heads != 0)
    throw UserError(text::cat("MultiheadAttention: embed_dim = ", width, " is not a multiple of num_heads = ", heads),
                    at);
  const Dtype dtype = o.dtype.value_or(default_dtype());
  const int64_t key_width = o.kdim.value_or(width), value_width = o.vdim.value_or(width);
  if (key_width == width && value_width == width) {
    in_proj_weight = init::xavier_uniform_(new_parameter({3 * width, width}, dtype, at), 1, {}, at);
  } else {
    q_proj_weight = init::xavier_uniform_(new_parameter({width, width}, dtype, at), 1, {}, at);
    k_proj_weight = init::xavier_uniform_(new_parameter({width, key_width}, dtype, at), 1, {}, at);
    v_proj_weight = init::xavier_uniform_(new_parameter({width, value_width}, dtype, at), 1, {}, at);
  }
  out_proj = Linear(width, width, {.bias = o.bias, .dtype = dtype}, at);
  if (o.bias) {
    in_proj_bias = new_parameter({3 * width}, dtype, at);
    init::zeros_(out_proj.bias, at);
  }
  if (o.add_bias_kv) {
    bias_k = init::xavier_normal_(new_parameter({1, 1, width}, dtype, at), 1, {}, at);
    bias_v = init::xavier_normal_(new_parameter({1, 1, width}, dtype, at), 1, {}, at);
  }
}

std::tuple<Tensor, Tensor, Tensor> MultiheadAttention::project(const Tensor& q, const Tensor& k, const Tensor& v,
                                                               SourceLocation at) const {
  std::vector<Tensor> biases(3);
  if (in_proj_bias.defined()) biases = chunk(in_proj_bias, 3, 0, at);
  if (!in_proj_weight.defined()) {
    const Tensor query = linear(q, q_proj_weight, biases[0], at), key = linear(k, k_proj_weight, biases[1], at);
    return {query, key, linear(v, v_proj_weight, biases[2], at)};
  }
  if (q.is_same(k) && k.is_same(v)) {  // one product for all three
    const std::vector<Tensor> parts = chunk(linear(q, in_proj_weight, in_proj_bias, at), 3, -1, at);
    return {parts[0], parts[1], parts[2]};
  }
  const std::vector<Tensor> weights = chunk(in_proj_weight, 3, 0, at);
  const Tensor query = linear(q, weights[0], biases[0], at), key = linear(k, weights[1], biases[1], at);
  return {query, key, linear(v, weights[2], biases[2], at)};
}

std::tuple<Tensor, Tensor> MultiheadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                                          const AttentionArguments& a, SourceLocation at) const {
  const int64_t dims = query.defined() ? query.ndim() : 3;
  check_input(query, "query", dims, at);
  check_input(key, "key", dims, at);
  check_input(value, "value", dims, at);
  const auto sequence = [&](const Tensor& x) {
    return dims == 2 ? unsqueeze(x, 1, at) : batch_first ? transpose(x, 0, 1, at) : x;
  };
  const Tensor first = sequence(query), second = key.is_same(query) ? first : sequence(key);
  const Tensor third = value.is_same(key) ? second : sequence(value);
  auto [q, k, v] = project(first, second, third, at);
  const Int batch = q.size(1), length = q.size(0);
  Tensor mask = additive(a.attn_mask, q.dtype(), at), padding = additive(a.key_padding_mask, q.dtype(), at);
  if (a.is_causal && !mask.defined()) {
    const Tensor none = full({length, k.size(0)}, -infinity, {.dtype = q.dtype()}, at);
    mask = triu(none, 1, at);
  }
  if (padding.defined() && padding.ndim() == 1) padding = unsqueeze(padding, 0, at);
  const auto lengthen = [&](const Tensor& at_end_of, double number) {
    return at_end_of.defined() ? pad(at_end_of, {0, 1}, "constant", number, at) : at_end_of;
  };
  if (bias_k.defined()) {
    k = cat({k, expand(bias_k, {1, batch, embed_dim}, at)}, 0, at);
    v = cat({v, expand(bias_v, {1, batch, embed_dim}, at)}, 0, at);
    mask = lengthen(mask, 0);
    padding = lengthen(padding, 0);
  }
  if (add_zero_attn) {
    k = pad(k, {0, 0, 0, 0, 0, 1}, "constant", 0.0, at);
    v = pad(v, {0, 0, 0, 0, 0, 1}, "constant", 0.0, at);
    mask = lengthen(mask, 0);
    padding = lengthen(padding, 0);
  }
  if (mask.defined() && mask.ndim() == 3) mask = reshape(mask, {batch, num_heads, length, k.size(0)}, at);
  if (padding.defined()) {
    const Tensor keys = reshape(padding, {batch, 1, 1, k.size(0)}, at);
    mask = mask.defined() ? add(mask, keys, 1, at) : expand(keys, {batch, 1, length, k.size(0)}, at);
  }
  const Tensor queries = by_heads(q, num_heads, at), keys = by_heads(k, num_heads, at),
               values = by_heads(v, num_heads, at);
  const double drop = training ? dropout : 0;
  Tensor mixed, weights;
  if (a.need_weights) {
    const Tensor scaled =
        mul(queries, std::sqrt(1.0 / (static_cast<double>(embed_dim) / static_cast<double>(num_heads))), at);
    Tensor scores = matmul(scaled, transpose(keys, -2, -1, at), at);
    if (mask.defined()) scores = add(scores, mask, 1, at);
    weights = softmax(scores, -1, {}, at);
    if (drop > 0) weights = nn::dropout(weights, drop, true, false, at);
    mixed = matmul(weights, values, at);
    if (a.average_attn_weights) weights = mean(weights, {1}, false, {}, at);
    if (dims == 2) weights = squeeze(weights, 0, at);
  } else {
    mixed = scaled_dot_product_attention(queries, keys, values, mask, drop, false, {}, false, at);
  }
  const Tensor joined = reshape(permute(mixed, {2, 0, 1, 3}, at), {length, batch, embed_dim}, at);
  const Tensor y = out_proj(joined, at);
  return {dims == 2 ? squeeze(y, 1, at) : batch_first ? transpose(y, 0, 1, at) : y, weights};
}

std::tuple<Tensor, Tensor> multi_head_attention_forward(
    const Tensor& query, const Tensor& key, const Tensor& value, int64_t embed_dim_to_check, int64_t num_heads,
    const Tensor& in_proj_weight, const Tensor& in_proj_bias, const Tensor& bias_k, const Tensor& bias_v,
    bool add_zero_attn, double dropout_p, const Tensor& out_proj_weight, const Tensor& out_proj_bias,
    const MultiheadAttentionForwardOptions& options, SourceLocation at) {
  constexpr const char* name = "multi_head_attention_forward";
  if (!query.defined() || query.ndim() < 1 || query.size(-1) != embed_dim_to_check)
    throw UserError(text::cat(name, ": the query's last size must be embed_dim_to_check = ", embed_dim_to_check,
                              ", not ", query.defined() ? type_text(query) : "undefined"),
                    at);
  if (num_heads < 1 || embed_dim_to_check % num_heads != 0)
    throw UserError(text::cat(name, ": embed_dim_to_check = ", embed_dim_to_check,
                              " must be a multiple of num_heads = ", num_heads),
                    at);
  MultiheadAttention layer;
  if (options.use_separate_proj_weight) {
    layer.q_proj_weight = options.q_proj_weight;
    layer.k_proj_weight = options.k_proj_weight;
    layer.v_proj_weight = options.v_proj_weight;
  } else {
    layer.in_proj_weight = in_proj_weight;
  }
  layer.in_proj_bias = in_proj_bias;
  layer.bias_k = bias_k;
  layer.bias_v = bias_v;
  layer.out_proj.weight = out_proj_weight;
  layer.out_proj.bias = out_proj_bias;
  layer.embed_dim = embed_dim_to_check;
  layer.num_heads = num_heads;
  layer.dropout = dropout_p;
  layer.add_zero_attn = add_zero_attn;
  layer.training = options.training;
  return layer(query, key, value,
               AttentionArguments{.key_padding_mask = options.key_padding_mask,
                                  .need_weights = options.need_weights,
                                  .attn_mask = options.attn_mask,
                                  .average_attn_weights = options.average_attn_weights,
                                  .is_causal = options.is_causal},
               at);
}

Tensor causal_mask(int64_t size, SourceLocation at) {
  return triu(full({size, size}, -infinity, {.dtype = default_dtype()}, at), 1, at);
}

}  // namespace fulgurite::nn
