// Norms, distances and similarities, and the losses based on them.
#include <cmath>

#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/loss/loss_rules.h"
#include "ops/reduction/reduction_rules.h"

namespace fulgurite {

namespace {

/// In the compute dtype: integers as the default dtype, bf16 and f16 as f32.
Tensor wide(const Tensor& x, SourceLocation at) {
  return as_dtype(x, compute_dtype(floating_or_default(x.dtype())), at);
}
Dtype result_of(Arguments tensors) { return floating_or_default(result_dtype(tensors)); }

/// The norm of order p of a - b + eps along the last dimension, of wide tensors.
Tensor distance(const Tensor& a, const Tensor& b, Float p, Float eps, bool keepdim, SourceLocation at) {
  const Tensor difference = sub(a, b, 1, at);
  const Tensor moved = add(difference, eps, 1, at);
  return linalg::vector_norm(moved, p, Dims(-1), keepdim, {}, at);
}

/// The compute dtype of normalize: roots of sums of powers lose digits that the division would expose.
Tensor wide_for(Float p, const Tensor& x, SourceLocation at) {
  const bool is_plain = p == 2.0 || p == 1.0 || p == 0.0 || p == INFINITY || p == -INFINITY;
  return as_dtype(x, is_plain ? compute_dtype(x.dtype()) : Dtype::f64, at);
}

}  // namespace

constinit const Symbol norm_symbol{
    .signature =
        "torch.norm(Tensor input, float p=2.0, int[]? dim=None, bool keepdim=False, *, Dtype? dtype=None) -> Tensor",
    .documentation = "The norm of order p of all elements, or along dimensions.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Dims dims = a[2].is_none() ? Dims() : Dims(a[2].shape());
          std::optional<Dtype> dtype;
          if (!a[4].is_none()) dtype = a[4].dtype();
          out.push_back(linalg::vector_norm(a[0].tensor(), a[1].floating(), dims, a[3].boolean(), dtype, at));
        },
    .traits = {.reduction = true},
};

constinit const Symbol normalize_symbol{
    .signature = "torch.nn.functional.normalize(Tensor input, float p=2.0, int dim=1, float eps=1e-12) -> Tensor",
    .documentation = "Divided by the norm of order p along a dimension, or by eps where that is larger.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require(is_floating(a[0].tensor().dtype()), "needs a floating dtype, not ", a[0].tensor().dtype());
          const Tensor x = wide_for(a[1].floating(), a[0].tensor(), at);
          const Tensor norm = linalg::vector_norm(x, a[1].floating(), Dims(a[2].integer()), true, {}, at);
          const Tensor divisor = clamp_min(norm, a[3].floating(), at);
          const Tensor result = div(x, divisor, {}, at);
          out.push_back(as_dtype(result, a[0].tensor().dtype(), at));
        },
    // The component along x is removed before dividing: for a row of one element the result is exactly zero.
    .gradient =
        [](Gradient& g) {
          const Float p = g.argument(1).floating(), eps = g.argument(3).floating();
          const Tensor x = wide_for(p, g.tensor(0), SourceLocation());
          const Tensor cotangent = wide_for(p, g.cotangent(), SourceLocation());
          const Dims dim(g.argument(2).integer());
          const Tensor norm = linalg::vector_norm(x, p, dim, true);
          const Tensor divisor = clamp_min(norm, eps);
          const Tensor unit = div(x, divisor);
          const Tensor products = mul(cotangent, unit);
          const Tensor total = sum(products, dim, true);
          const Tensor is_small = lt(norm, eps);
          const Tensor along = where(is_small, 0, total);
          const Tensor part = p == 2.0 ? mul(along, unit) : norm_backward(along, x, norm, p, dim);
          const Tensor rest = sub(cotangent, part);
          g.set(0, div(rest, divisor));
        },
};

constinit const Symbol pairwise_distance_symbol{
    .signature =
        "torch.nn.functional.pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-6, bool keepdim=False) "
        "-> Tensor",
    .documentation = "The norm of order p of x1 - x2 + eps along the last dimension.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor first = wide(a[0].tensor(), at);
          const Tensor second = wide(a[1].tensor(), at);
          const Tensor result = distance(first, second, a[2].floating(), a[3].floating(), a[4].boolean(), at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
};

constinit const Symbol cosine_similarity_symbol{
    .signature = "torch.nn.functional.cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-8) -> Tensor",
    .documentation = "The inner product along a dimension over the product of the norms, each at least eps.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor first = wide(a[0].tensor(), at);
          const Tensor second = wide(a[1].tensor(), at);
          const Shape common = broadcast_shapes(first.shape(), second.shape());
          const Dims dim(normalize_dim(a[2].integer(), static_cast<int64_t>(common.size())));
          const Tensor x = expand(first, common, at);
          const Tensor y = expand(second, common, at);
          const Tensor x_norm = linalg::vector_norm(x, 2.0, dim, true, {}, at);
          const Tensor y_norm = linalg::vector_norm(y, 2.0, dim, true, {}, at);
          const Tensor x_divisor = raised_to(x_norm, a[3].floating(), at);
          const Tensor y_divisor = raised_to(y_norm, a[3].floating(), at);
          const Tensor x_unit = div(x, x_divisor, {}, at);
          const Tensor y_unit = div(y, y_divisor, {}, at);
          const Tensor product = mul(x_unit, y_unit, at);
          const Tensor result = sum(product, dim, false, {}, at);
          out.push_back(as_dtype(result, result_of(a.first(2)), at));
        },
};

constinit const Symbol triplet_margin_loss_symbol{
    .signature =
        "torch.nn.functional.triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, "
        "float p=2.0, float eps=1e-6, bool swap=False, bool? size_average=None, bool? reduce=None, str "
        "reduction='mean') -> Tensor",
    .documentation = "How much further than margin the negative should be from the anchor than the positive.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Float p = a[4].floating(), eps = a[5].floating();
          require(a[3].floating() > 0.0, "margin must be positive, not ", a[3].floating().hint());
          const Tensor anchor = wide(a[0].tensor(), at);
          const Tensor positive = wide(a[1].tensor(), at);
          const Tensor negative = wide(a[2].tensor(), at);
          const Tensor near = distance(anchor, positive, p, eps, false, at);
          Tensor far = distance(anchor, negative, p, eps, false, at);
          if (a[6].boolean()) {
            const Tensor swapped = distance(positive, negative, p, eps, false, at);
            far = minimum(far, swapped, at);
          }
          const Tensor difference = sub(near, far, 1, at);
          const Tensor raised = add(difference, a[3].floating(), 1, at);
          const Tensor loss = clamp_min(raised, 0, at);
          const Tensor result = reduced(loss, reduction_of(a[7], a[8], a[9]), at);
          out.push_back(as_dtype(result, result_of(a.first(3)), at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol margin_ranking_loss_symbol{
    .signature =
        "torch.nn.functional.margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, "
        "bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
    .documentation = "How much input1 - input2, times the target 1 or -1, falls short of margin.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require(a[0].tensor().ndim() == a[1].tensor().ndim() && a[0].tensor().ndim() == a[2].tensor().ndim(),
                  "input1, input2 and target must have the same number of dimensions");
          const Tensor first = wide(a[0].tensor(), at);
          const Tensor second = wide(a[1].tensor(), at);
          const Tensor target = wide(a[2].tensor(), at);
          const Tensor difference = sub(first, second, 1, at);
          const Tensor directed = mul(difference, target, at);
          const Tensor raised = sub(a[3].operand(), directed, 1, at);
          const Tensor loss = clamp_min(raised, 0, at);
          const Tensor result = reduced(loss, reduction_of(a[4], a[5], a[6]), at);
          out.push_back(as_dtype(result, result_of(a.first(3)), at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol hinge_embedding_loss_symbol{
    .signature =
        "torch.nn.functional.hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, bool? "
        "size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
    .documentation = "input where the target is 1, what it falls short of margin where the target is -1.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor x = wide(a[0].tensor(), at);
          const Tensor& target = a[1].tensor();
          const Tensor gap = sub(a[2].operand(), x, 1, at);
          const Tensor shortfall = clamp_min(gap, 0, at);
          const Tensor is_negative = ne(target, 1, at);
          const Tensor is_positive = ne(target, -1, at);
          const Tensor negative_part = where(is_negative, shortfall, 0.0, at);
          const Tensor positive_part = where(is_positive, x, 0.0, at);
          const Tensor loss = add(negative_part, positive_part, 1, at);
          const Tensor result = reduced(loss, reduction_of(a[3], a[4], a[5]), at);
          out.push_back(as_dtype(result, floating_or_default(a[0].tensor().dtype()), at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

SymbolList distance_symbols() {
  static constexpr const Symbol* list[] = {
      &norm_symbol,
      &normalize_symbol,
      &pairwise_distance_symbol,
      &cosine_similarity_symbol,
      &triplet_margin_loss_symbol,
      &margin_ranking_loss_symbol,
      &hinge_embedding_loss_symbol,
  };
  return list;
}

}  // namespace fulgurite
