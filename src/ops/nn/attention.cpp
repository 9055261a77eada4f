// Scaled dot product attention.
#include <cmath>
#include <limits>

#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// query · keyᵀ · scale in the compute dtype, with masked scores at -infinity and a floating mask added.
Tensor masked_scores(const Tensor& query, const Tensor& key, const Tensor& mask, bool is_causal, Float scale,
                     SourceLocation at) {
  const Dtype dtype = compute_dtype(query.dtype());
  const Tensor q = as_dtype(query, dtype, at);
  const Tensor k = as_dtype(key, dtype, at);
  const Tensor scaled = mul(q, scale, at);
  const Tensor columns = transpose(k, -2, -1, at);
  Tensor scores = matmul(scaled, columns, at);
  if (mask.defined())
    scores = mask.dtype() == Dtype::boolean ? where(mask, scores, -infinity, at)
                                            : add(scores, as_dtype(mask, dtype, at), 1, at);
  if (is_causal) {
    const TensorOptions integers{.dtype = Dtype::i64, .device = query.device()};
    const Tensor row_numbers = arange(0, query.size(-2), 1, integers, at);
    const Tensor columns_numbers = arange(0, key.size(-2), 1, integers, at);
    const Tensor rows = unsqueeze(row_numbers, 1, at);
    const Tensor seen = le(columns_numbers, rows, at);
    scores = where(seen, scores, -infinity, at);
  }
  return scores;
}

/// exp(scores - logsumexp): the weights of the values; zero in fully masked rows.
Tensor weights_of(const Tensor& scores, const Tensor& logsumexp, SourceLocation at) {
  const Tensor column = unsqueeze(logsumexp, -1, at);
  const Tensor masked = eq(column, -infinity, at);
  const Tensor safe = where(masked, 0.0, column, at);
  const Tensor shifted = sub(scores, safe, 1, at);
  return exp(shifted, at);
}

/// The same from the scores alone, with a gradient that is never NaN.
Tensor normalized_weights(const Tensor& scores, SourceLocation at) {
  if (scores.size(-1) == 0) return scores;
  const Tensor largest = amax(scores, Dims(-1), true, at);
  const Tensor masked = eq(largest, -infinity, at);
  const Tensor safe = where(masked, 0.0, scores, at);
  const Tensor weights = softmax(safe, -1, {}, at);
  return where(masked, 0.0, weights, at);
}

/// The cotangent of scores from that of out: P * (dP - rowsum(P * dP)) with dP = grad · valueᵀ. The row sums equal
/// those of grad * out, but cancel exactly if one key has all the weight.
Tensor scores_cotangent(const Tensor& grad, const Tensor& value, const Tensor& weights, SourceLocation at) {
  const Tensor g = as_dtype(grad, weights.dtype(), at);
  const Tensor v = as_dtype(value, weights.dtype(), at);
  const Tensor value_columns = transpose(v, -2, -1, at);
  const Tensor weight_cotangent = matmul(g, value_columns, at);
  const Tensor products = mul(weights, weight_cotangent, at);
  const Tensor row_sums = sum(products, Dims(-1), true, {}, at);
  const Tensor centered = sub(weight_cotangent, row_sums, 1, at);
  return mul(weights, centered, at);
}

/// The cotangents of query and key from that of scores.
std::pair<Tensor, Tensor> operand_cotangents(const Tensor& scores, const Tensor& query, const Tensor& key, Float scale,
                                             SourceLocation at) {
  const Dtype dtype = compute_dtype(query.dtype());
  const Tensor q = as_dtype(query, dtype, at);
  const Tensor k = as_dtype(key, dtype, at);
  const Tensor scaled = mul(scores, scale, at);
  const Tensor dq = matmul(scaled, k, at);
  const Tensor columns = transpose(scaled, -2, -1, at);
  const Tensor dk = matmul(columns, q, at);
  return {dq, dk};
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  require(q.ndim() >= 2 && k.ndim() >= 2 && v.ndim() >= 2, "query, key and value need at least 2 dimensions");
  require(is_floating(q.dtype()), "query must be floating, got ", q.dtype());
  require(q.dtype() == k.dtype() && q.dtype() == v.dtype(), "dtypes differ: ", q.dtype(), ", ", k.dtype(), " and ",
          v.dtype());
  require(q.size(-1) == k.size(-1), "query and key have different last sizes: ", q.shape(), " and ", k.shape());
  require(k.size(-2) == v.size(-2), "key and value have different lengths: ", k.shape(), " and ", v.shape());
  if (mask.defined())
    require(mask.dtype() == Dtype::boolean || is_floating(mask.dtype()), "attn_mask must be bool or floating, got ",
            mask.dtype());
}

Shape batch_of(const Tensor& x) {
  const Shape shape = x.shape();
  return Shape(shape.data(), shape.size() - 2);
}

/// Returns true if each head of key and value serves a group of consecutive heads of query; all other batch dimensions
/// are equal.
bool is_grouped(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.ndim() < 3 || q.ndim() != k.ndim()) return false;
  Shape batch = batch_of(q);
  const Shape key_batch = batch_of(k);
  const Int heads = batch.back(), key_heads = key_batch.back();
  batch.back() = key_heads;
  return key_batch == batch && batch_of(v) == batch && heads > 0 && key_heads > 0 && heads % key_heads == 0;
}

/// The result's shape, heads before rows, for equal batch dimensions.
Shape result_shape(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  check_attention(q, k, v, mask);
  const Shape batch = batch_of(q);
  require((batch_of(k) == batch && batch_of(v) == batch) || is_grouped(q, k, v), "batch dimensions differ: ", q.shape(),
          ", ", k.shape(), " and ", v.shape());
  Shape shape = batch;
  shape.push_back(q.size(-2));
  if (mask.defined()) {
    Shape scores = shape;
    scores.push_back(k.size(-2));
    require(broadcast_shapes(mask.shape(), scores) == scores, "the mask's shape ", mask.shape(),
            " cannot be broadcast to ", scores);
  }
  shape.push_back(v.size(-1));
  return shape;
}

/// The shape of the primitives' results: rows before heads.
Shape rows_first(Shape shape) {
  const size_t ndim = shape.size();
  if (ndim > 3) std::swap(shape[ndim - 3], shape[ndim - 2]);
  return shape;
}
/// Converts from one order to the other.
Tensor swap_heads(const Tensor& x, SourceLocation at) { return x.ndim() > 3 ? transpose(x, -3, -2, at) : x; }

/// x broadcast to other batch dimensions; x itself if it has them.
Tensor with_batch(const Tensor& x, const Shape& batch, SourceLocation at) {
  if (batch_of(x) == batch) return x;
  Shape shape = batch;
  shape.push_back(x.size(-2));
  shape.push_back(x.size(-1));
  return expand(x, shape, at);
}

/// Repeats each head of x `count` times, consecutively.
Tensor repeat_heads(const Tensor& x, Int count, SourceLocation at) {
  Shape shape = x.shape();
  const size_t heads = shape.size() - 3;
  const Tensor column = unsqueeze(x, static_cast<int64_t>(heads) + 1, at);
  Shape repeated = shape;
  repeated.insert(heads + 1, count);
  const Tensor copies = expand(column, repeated, at);
  shape[heads] = shape[heads] * count;
  return reshape(copies, shape, at);
}

Tensor match_heads(const Tensor& query, const Tensor& x, SourceLocation at) {
  require(query.ndim() >= 3 && x.ndim() >= 3, "enable_gqa needs a dimension of heads");
  const Int wanted = query.size(-3), heads = x.size(-3);
  if (wanted == heads) return x;
  require(heads > 0 && wanted % heads == 0, "the number of query heads ", wanted.hint(), " is not a multiple of ",
          heads.hint());
  return repeat_heads(x, wanted / heads, at);
}
/// The same, for the primitives: without batch dimensions there are no heads.
Tensor all_heads(const Tensor& query, const Tensor& x, SourceLocation at) {
  return query.ndim() < 3 ? x : match_heads(query, x, at);
}
/// Sums the cotangents of repeated heads to the heads of `x`.
Tensor sum_heads(const Tensor& cotangent, const Tensor& x, SourceLocation at) {
  if (x.ndim() < 3 || x.size(-3) == cotangent.size(-3)) return cotangent;
  Shape shape = cotangent.shape();
  const size_t heads = shape.size() - 3;
  shape[heads] = x.size(-3);
  shape.insert(heads + 1, cotangent.size(-3) / x.size(-3));
  const Tensor grouped = reshape(cotangent, shape, at);
  return sum(grouped, Dims(static_cast<int64_t>(heads) + 1), false, {}, at);
}

}  // namespace

constinit const Symbol prims_scaled_dot_product_attention_symbol{
    .signature =
        "prims.scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool is_causal, "
        "float scale) -> (Tensor, Tensor)",
    .documentation =
        "Attention of equal batch dimensions, and the logarithm of the sum of each row's exponentiated scores. A row "
        "in which everything is masked gives zeros and -infinity. A head of key and value may serve several of query, "
        "one after another. The result has rows before heads.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& q = a[0].tensor();
          const Shape shape = result_shape(q, a[1].tensor(), a[2].tensor(), a[3].tensor_or_none());
          Shape rows = shape;
          rows.erase(rows.size() - 1);
          out.push_back(like(q, rows_first(shape)));
          out.push_back({rows, compute_dtype(q.dtype()), q.device()});
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& query = a[0].tensor();
          const Tensor key = all_heads(query, a[1].tensor(), at);
          const Tensor value = all_heads(query, a[2].tensor(), at);
          const Tensor mask = a[3].tensor_or_none();
          const Tensor scores = masked_scores(query, key, mask, a[4].boolean(), a[5].floating(), at);
          const Tensor logsumexp = fulgurite::logsumexp(scores, Dims(-1), false, at);
          const Tensor weights = weights_of(scores, logsumexp, at);
          const Tensor v = as_dtype(value, weights.dtype(), at);
          const Tensor result = matmul(weights, v, at);
          const Tensor narrowed = as_dtype(result, query.dtype(), at);
          out.push_back(swap_heads(narrowed, at));
          out.push_back(logsumexp);
        },
    .gradient =
        [](Gradient& g) {
          const Tensor query = g.tensor(0), key = g.tensor(1), value = g.tensor(2), mask = g.tensor(3);
          const bool is_causal = g.argument(4).boolean();
          const Float scale = g.argument(5).floating();
          const SourceLocation at{};
          const Tensor row_grad = g.cotangent(1);
          Tensor grad = g.cotangent(0), dq, dk;
          if (grad.defined()) {
            grad = swap_heads(grad, at);
            const auto [first, second, third] = prims::scaled_dot_product_attention_backward(
                grad, query, key, value, g.result(1), mask, is_causal, scale);
            dq = swap_heads(first, at);
            dk = swap_heads(second, at);
            g.set(2, swap_heads(third, at));
          }
          const bool needs_mask = mask.defined() && is_floating(mask.dtype()) && g.needs(3);
          if (row_grad.defined() || needs_mask) {
            const Tensor keys = all_heads(query, key, at);
            const Tensor scores = masked_scores(query, keys, mask, is_causal, scale, at);
            const Tensor weights = weights_of(scores, g.result(1), at);
            Tensor dmask;
            if (row_grad.defined()) {  // d logsumexp / d scores are the weights
              const Tensor column = unsqueeze(row_grad, -1);
              const Tensor dscores = mul(weights, column);
              const auto [more_q, more] = operand_cotangents(dscores, query, keys, scale, at);
              const Tensor more_k = sum_heads(more, key, at);
              dq = dq.defined() ? add(dq, more_q) : more_q;
              dk = dk.defined() ? add(dk, more_k) : more_k;
              dmask = dscores;
            }
            if (needs_mask && grad.defined()) {
              const Tensor values = all_heads(query, value, at);
              const Tensor dscores = scores_cotangent(grad, values, weights, at);
              dmask = dmask.defined() ? add(dmask, dscores) : dscores;
            }
            if (needs_mask) g.set(3, dmask);
          }
          if (dq.defined()) g.set(0, dq);
          if (dk.defined()) g.set(1, dk);
        },
    .python = "scaled_dot_product_attention({0}, {1}, {2}, {3}, {4}, {5})",
    .python_definition =
        "def scaled_dot_product_attention(q, k, v, mask, is_causal, scale):\n"
        "  if q.ndim > 2 and k.shape[-3] != q.shape[-3]:\n"
        "    k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))\n"
        "  dtype = torch.float32 if q.dtype in (torch.bfloat16, torch.float16) else q.dtype\n"
        "  scores = (q.to(dtype) * scale) @ k.to(dtype).transpose(-2, -1)\n"
        "  if mask is not None:\n"
        "    scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask.to(dtype)\n"
        "  if is_causal:\n"
        "    scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)\n"
        "  rows = torch.logsumexp(scores, -1)\n"
        "  weights = torch.exp(scores - torch.where(rows == -torch.inf, 0, rows).unsqueeze(-1))\n"
        "  result = (weights @ v.to(scores.dtype)).to(q.dtype)\n"
        "  return result.transpose(-3, -2) if result.ndim > 3 else result, rows\n",
};

constinit const Symbol prims_scaled_dot_product_attention_backward_symbol{
    .signature =
        "prims.scaled_dot_product_attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor "
        "logsumexp, Tensor? mask, bool is_causal, float scale) -> (Tensor, Tensor, Tensor)",
    .documentation =
        "The cotangents of attention's query, key and value, rows before heads; grad has heads before rows. The "
        "weights are recomputed from the scores and logsumexp, the forward's.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& q = a[1].tensor();
          const Shape shape = result_shape(q, a[2].tensor(), a[3].tensor(), a[5].tensor_or_none());
          Shape rows = shape;
          rows.erase(rows.size() - 1);
          const Tensor& sums = a[4].tensor();
          require(sums.shape() == rows && sums.dtype() == compute_dtype(q.dtype()), "logsumexp is ", type_text(sums),
                  ", expected ", compute_dtype(q.dtype()), rows);
          require(a[0].tensor().shape() == shape && a[0].tensor().dtype() == q.dtype(), "grad is ",
                  type_text(a[0].tensor()), ", expected ", q.dtype(), shape);
          for (size_t i = 1; i < 4; ++i) out.push_back(like(a[i].tensor(), rows_first(a[i].tensor().shape())));
        },
    .decompose =
        [](Arguments a, Results& results, SourceLocation at) {
          const Tensor &grad = a[0].tensor(), &query = a[1].tensor(), &key = a[2].tensor(), &value = a[3].tensor();
          const Float scale = a[7].floating();
          const Tensor keys = all_heads(query, key, at);
          const Tensor values = all_heads(query, value, at);
          const Tensor scores = masked_scores(query, keys, a[5].tensor_or_none(), a[6].boolean(), scale, at);
          const Tensor weights = normalized_weights(scores, at);
          const Tensor g = as_dtype(grad, weights.dtype(), at);
          const Tensor weight_columns = transpose(weights, -2, -1, at);
          const Tensor all_dv = matmul(weight_columns, g, at);
          const Tensor dv = sum_heads(all_dv, value, at);
          const Tensor dscores = scores_cotangent(grad, values, weights, at);
          const auto [dq, all_dk] = operand_cotangents(dscores, query, keys, scale, at);
          const Tensor dk = sum_heads(all_dk, key, at);
          for (const auto& [cotangent, operand] : {std::pair{&dq, &query}, {&dk, &key}, {&dv, &value}}) {
            const Tensor narrowed = as_dtype(*cotangent, operand->dtype(), at);
            results.push_back(swap_heads(narrowed, at));
          }
        },
    .python = "scaled_dot_product_attention_backward({0}, {1}, {2}, {3}, {4}, {5}, {6}, {7})",
    .python_definition =
        "def scaled_dot_product_attention_backward(g, q, k, v, rows, mask, is_causal, scale):\n"
        "  key_batch = k.shape[:-2]\n"
        "  if q.ndim > 2 and k.shape[-3] != q.shape[-3]:\n"
        "    k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))\n"
        "  dtype = torch.float32 if q.dtype in (torch.bfloat16, torch.float16) else q.dtype\n"
        "  scores = (q.to(dtype) * scale) @ k.to(dtype).transpose(-2, -1)\n"
        "  if mask is not None:\n"
        "    scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask.to(dtype)\n"
        "  if is_causal:\n"
        "    scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)\n"
        "  masked = (scores == -torch.inf).all(-1, keepdim=True)\n"
        "  weights = torch.softmax(scores.masked_fill(masked, 0), -1).masked_fill(masked, 0)\n"
        "  g = g.to(dtype)\n"
        "  dweights = g @ v.to(dtype).transpose(-2, -1)\n"
        "  dscores = weights * (dweights - (weights * dweights).sum(-1, keepdim=True)) * scale\n"
        "  dq, dk, dv = dscores @ k.to(dtype), dscores.transpose(-2, -1) @ q.to(dtype), weights.transpose(-2, -1) @ g\n"
        "  if key_batch != k.shape[:-2]:\n"
        "    dk, dv = (x.reshape(*key_batch, q.shape[-3] // key_batch[-1], *x.shape[-2:]).sum(-3) for x in (dk, dv))\n"
        "  results = (x.to(q.dtype) for x in (dq, dk, dv))\n"
        "  return tuple(x.transpose(-3, -2) if x.ndim > 3 else x for x in results)\n",
};

constinit const Symbol scaled_dot_product_attention_symbol{
    .signature =
        "torch.nn.functional.scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
        "attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) "
        "-> Tensor",
    .documentation =
        "softmax(query · keyᵀ · scale + mask) · value. With enable_gqa, heads of key and value serve several of query.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          Tensor query = a[0].tensor(), key = a[1].tensor(), value = a[2].tensor();
          Tensor mask = a[3].tensor_or_none();
          const Float dropout = a[4].floating();
          const bool is_causal = a[5].boolean();
          check_attention(query, key, value, mask);
          require(!(mask.defined() && is_causal), "attn_mask and is_causal exclude each other");
          require(dropout >= 0.0 && dropout <= 1.0, "dropout_p must be from 0 to 1, got ", dropout.hint());
          // For rows without elements all scores are 0, and the result is the values' mean.
          const Float scale = !a[6].is_none()       ? a[6].floating()
                              : query.size(-1) == 0 ? Float(1.0)
                                                    : 1.0 / sqrt(query.size(-1));
          bool stays_grouped = a[7].boolean() && dropout == 0.0 && is_grouped(query, key, value);
          if (stays_grouped && mask.defined() && mask.ndim() > 2)
            stays_grouped = broadcast_shapes(batch_of(query), batch_of(mask)) == batch_of(query);
          if (a[7].boolean() && !stays_grouped) {
            key = match_heads(query, key, at);
            value = match_heads(query, value, at);
          }
          Shape batch = batch_of(query);
          if (!stays_grouped) {
            const Shape key_batch = broadcast_shapes(batch, batch_of(key));
            batch = broadcast_shapes(key_batch, batch_of(value));
            if (mask.defined() && mask.ndim() > 2) batch = broadcast_shapes(batch, batch_of(mask));
            query = with_batch(query, batch, at);
            key = with_batch(key, batch, at);
            value = with_batch(value, batch, at);
          }
          if (dropout == 0.0) {
            const auto [result, logsumexp] =
                prims::scaled_dot_product_attention(query, key, value, mask, is_causal, scale, at);
            out.push_back(swap_heads(result, at));
            return;
          }
          const Tensor scores = masked_scores(query, key, mask, is_causal, scale, at);
          const Tensor logsumexp = fulgurite::logsumexp(scores, Dims(-1), false, at);
          const Tensor weights = weights_of(scores, logsumexp, at);
          const Tensor kept = nn::dropout(weights, dropout, true, false, at);
          const Tensor v = as_dtype(value, weights.dtype(), at);
          out.push_back(as_dtype(matmul(kept, v, at), query.dtype(), at));
        },
    .semantics = {.autocast = AutocastPolicy::narrow},
};

std::span<const Symbol* const> attention_symbols() {
  static constexpr const Symbol* all[] = {&prims_scaled_dot_product_attention_symbol,
                                          &prims_scaled_dot_product_attention_backward_symbol,
                                          &scaled_dot_product_attention_symbol};
  return all;
}

}  // namespace fulgurite
