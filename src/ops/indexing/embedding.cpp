// Embedding: rows of a table, gathered by index.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {

namespace {

/// Scales rows whose norm exceeds max_norm down to it.
Tensor limit_rows(const Tensor& rows, Float max_norm, Float norm_type, SourceLocation at) {
  const Tensor norms = linalg::vector_norm(rows, norm_type, Dims(-1), true, {}, at);
  const Tensor safe = add(norms, 1e-7, 1, at);
  const Tensor scale = div(max_norm, safe, {}, at);
  const Tensor exceeds = gt(norms, max_norm, at);
  const Tensor factor = where(exceeds, scale, 1.0, at);
  return mul(rows, factor, at);
}

/// The cotangent of each row, divided by the number of occurrences of its index.
Tensor divided_by_counts(const Tensor& cotangent, const Tensor& indices, Int rows) {
  const Tensor flat = reshape(indices, {indices.numel()});
  const Tensor ones =
      fulgurite::ones({indices.numel()}, {.dtype = compute_dtype(cotangent.dtype()), .device = cotangent.device()});
  const Tensor none = zeros({rows}, {.dtype = ones.dtype(), .device = cotangent.device()});
  const Tensor counts = index_add(none, 0, flat, ones);
  const Tensor own = index_select(counts, 0, flat);
  Shape column = indices.shape();
  column.push_back(1);
  const Tensor divisor = reshape(own, column);
  const Tensor quotient = div(cotangent, divisor);
  return as_dtype(quotient, cotangent.dtype(), {});
}

}  // namespace

constinit const Symbol embedding_symbol{
    .signature =
        "torch.nn.functional.embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, "
        "float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    .documentation =
        "The rows of weight whose numbers input holds. The row padding_idx gets no gradient. Rows longer than "
        "max_norm are scaled down in the result; weight itself stays as it is. scale_grad_by_freq divides "
        "the gradient of a row by how often its number occurs.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &input = a[0].tensor(), &weight = a[1].tensor();
          require(input.dtype() == Dtype::i64 || input.dtype() == Dtype::i32, "input must be i64 or i32, got ",
                  input.dtype());
          require(weight.ndim() == 2, "weight must have 2 dimensions, got ", weight.ndim());
          require(!a[6].boolean(), "sparse gradients are not supported; leave sparse out");
          require(!a[5].boolean() || a[3].is_none(),
                  "scale_grad_by_freq is not supported with max_norm; give one of them");
          if (!a[2].is_none()) {
            const Int padding = a[2].integer(), rows = weight.size(0);
            require(padding < rows && padding >= -rows, "padding_idx ", padding.hint(), " is out of range for ",
                    rows.hint(), " rows");
          }
          Shape shape = input.shape();
          shape.push_back(weight.size(1));
          out.push_back(like(weight, shape));
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &input = a[0].tensor(), &weight = a[1].tensor();
          if (!a[3].is_none()) {
            const Tensor rows = nn::embedding(input, weight, {}, {}, 2.0, false, false, at);
            out.push_back(limit_rows(rows, a[3].floating(), a[4].floating(), at));
            return;
          }
          Shape shape = input.shape();
          shape.push_back(weight.size(1));
          const Tensor numbers = input.ndim() == 1 ? input : reshape(input, {input.numel()}, at);
          const Tensor rows = index_select(weight, 0, numbers, at);
          out.push_back(input.ndim() == 1 ? rows : reshape(rows, shape, at));
        },
    .gradient =
        [](Gradient& g) {  // the scaling by max_norm counts as a constant already contained in weight
          if (!g.needs(1)) return;
          const Int rows = g.tensor(1).size(0);
          Int padding = g.argument(2).is_none() ? Int(-1) : g.argument(2).integer();
          if (!g.argument(2).is_none() && padding < 0) padding = padding + rows;
          const Tensor cotangent =
              g.argument(5).boolean() ? divided_by_counts(g.cotangent(), g.tensor(0), rows) : g.cotangent();
          g.set(1, prims::embedding_backward(cotangent, g.tensor(0), rows, padding));
        },
    .semantics = {.table = 1},
};

constinit const Symbol prims_embedding_backward_symbol{
    .signature = "prims.embedding_backward(Tensor grad, Tensor indices, int num_embeddings, int padding_idx) -> Tensor",
    .documentation =
        "The cotangent of an embedding's weight: the rows of grad added up by index, in order; -1: no padding index.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &grad = a[0].tensor(), &indices = a[1].tensor();
          require(is_floating(grad.dtype()), "grad must be floating, not ", grad.dtype());
          require(indices.dtype() == Dtype::i64 || indices.dtype() == Dtype::i32, "indices must be i64 or i32, got ",
                  indices.dtype());
          Shape rows = indices.shape();
          if (grad.ndim() > 0) rows.push_back(grad.size(-1));
          require(grad.ndim() > 0 && grad.shape() == rows, "grad has shape ", grad.shape(), ", indices ",
                  indices.shape());
          out.push_back(like(grad, {a[2].integer(), grad.size(-1)}));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor indices = g.tensor(1);
          const Int padding = g.argument(3).integer();
          const Tensor rows = nn::embedding(indices, g.cotangent());
          if (!padding.is_symbolic() && padding.hint() == -1) {
            g.set(0, rows);
            return;
          }
          const Tensor counted = ne(indices, padding);
          const Tensor column = unsqueeze(counted, -1);
          g.set(0, where(column, rows, 0));
        },
    .accumulate =
        [](std::span<const Value> args, const Value& sum, BoundSymbol& op) {
          const bool has_padding =
              !args[3].is_int() || args[3].integer().is_symbolic() || args[3].integer().hint() != -1;
          if (has_padding) return false;
          op.symbol = &prims_index_put_symbol;
          op.args = {sum, Value(std::vector<Value>{args[1]}), args[0], Value(Bool(true))};
          return true;
        },
    .python = "torch.ops.aten.embedding_dense_backward({0}, {1}, {2}, {3}, False)",
};

std::span<const Symbol* const> embedding_symbols() {
  static constexpr const Symbol* all[] = {&embedding_symbol, &prims_embedding_backward_symbol};
  return all;
}

}  // namespace fulgurite
