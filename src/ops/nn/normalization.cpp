// Layer and root-mean-square normalization.
#include <limits>

#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// The last `count` dimensions of a tensor, or all before them.
Dims last_dims(int64_t ndim, size_t count) {
  Dims dims;
  for (int64_t d = ndim - static_cast<int64_t>(count); d < ndim; ++d) dims.push_back(d);
  return dims;
}
Dims first_dims(int64_t ndim, size_t count) {
  Dims dims;
  for (int64_t d = 0; d < ndim - static_cast<int64_t>(count); ++d) dims.push_back(d);
  return dims;
}

Int product(std::span<const Int> sizes) {
  Int numel = 1;
  for (const Int n : sizes) numel = numel * n;
  return numel;
}

void check_normalized(const Tensor& x, std::span<const Int> normalized, const Tensor& weight, const Tensor& bias) {
  const Shape shape = x.shape(), wanted(normalized.data(), normalized.size());
  require(is_floating(x.dtype()), "the input must be floating, got ", x.dtype());
  require(!wanted.empty(), "normalized_shape must not be empty");
  require(wanted.size() <= shape.size(), "normalized_shape ", wanted, " has more dimensions than the input's shape ",
          shape);
  for (size_t i = 0; i < wanted.size(); ++i)
    require(shape[shape.size() - wanted.size() + i] == wanted[i], "the input's shape ", shape,
            " does not end in normalized_shape ", wanted);
  for (const Tensor& parameter : {weight, bias})
    if (parameter.defined())
      require(is_floating(parameter.dtype()), "weight and bias must be floating, got ", parameter.dtype());
  if (weight.defined())
    require(weight.shape() == wanted, "weight has shape ", weight.shape(), ", normalized_shape is ", wanted);
  if (bias.defined())
    require(bias.shape() == wanted, "bias has shape ", bias.shape(), ", normalized_shape is ", wanted);
}

/// The shape of mean and rstd: normalized dimensions are 1.
Shape statistics_shape(const Tensor& x, size_t normalized) {
  Shape shape = x.shape();
  for (size_t d = shape.size() - normalized; d < shape.size(); ++d) shape[d] = 1;
  return shape;
}

/// Sums over the dimensions that are not normalized: the gradient of a weight or bias.
Tensor sum_leading(const Tensor& x, size_t normalized, SourceLocation at) {
  const Dims dims = first_dims(x.ndim(), normalized);
  return dims.empty() ? x : sum(x, dims, false, {}, at);
}

}  // namespace

constinit const Symbol prims_layer_norm_symbol{
    .signature =
        "prims.layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
        "(Tensor, Tensor, Tensor)",
    .documentation = "Layer normalization, with the mean and the reciprocal standard deviation it used.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& x = a[0].tensor();
          check_normalized(x, a[1].integers(), a[2].tensor_or_none(), a[3].tensor_or_none());
          const Shape statistics = statistics_shape(x, a[1].integers().size());
          out.push_back(like(x, x.shape()));
          out.push_back({statistics, compute_dtype(x.dtype()), x.device()});
          out.push_back({statistics, compute_dtype(x.dtype()), x.device()});
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          const Dims dims = last_dims(input.ndim(), a[1].integers().size());
          const Dtype dtype = compute_dtype(input.dtype());
          const Tensor x = as_dtype(input, dtype, at);
          const Tensor average = mean(x, dims, true, {}, at);
          const Tensor centered = sub(x, average, 1, at);
          const Tensor squares = mul(centered, centered, at);
          const Tensor variance = mean(squares, dims, true, {}, at);
          const Tensor shifted = add(variance, a[4].floating(), 1, at);
          const Tensor rstd = rsqrt(shifted, at);
          Tensor y = mul(centered, rstd, at);
          if (a[2].is_tensor()) y = mul(y, as_dtype(a[2].tensor(), dtype, at), at);
          if (a[3].is_tensor()) y = add(y, as_dtype(a[3].tensor(), dtype, at), 1, at);
          out.push_back(as_dtype(y, input.dtype(), at));
          out.push_back(average);
          out.push_back(rstd);
        },
    .gradient =
        [](Gradient& g) {
          const Tensor x = g.tensor(0), average = g.result(1), rstd = g.result(2);
          const auto normalized = g.argument(1).integers();
          const SourceLocation at{};
          Tensor dx;
          const auto add_up = [&](const Tensor& part) { dx = dx.defined() ? add(dx, part) : part; };
          if (g.cotangent(0).defined()) {
            const auto [input, weight, bias] =
                prims::layer_norm_backward(g.cotangent(0), x, average, rstd, g.tensor(2), g.argument(1).shape());
            add_up(input);
            if (g.argument(2).is_tensor()) g.set(2, weight);
            if (g.argument(3).is_tensor()) g.set(3, bias);
          }
          if (g.cotangent(1).defined()) add_up(div(g.cotangent(1), product(normalized)));
          if (g.cotangent(2).defined()) {  // d rstd / dx = -rstd³ (x - mean) / n
            const Tensor centered = sub(as_dtype(x, average.dtype(), at), average);
            const Tensor square = mul(rstd, rstd);
            const Tensor cube = mul(square, rstd);
            const Tensor weighted = mul(g.cotangent(2), cube);
            const Tensor scaled = div(weighted, -product(normalized));
            add_up(mul(centered, scaled));
          }
          if (dx.defined()) g.set(0, dx);
        },
    .python = "layer_norm({0}, {1}, {2}, {3}, {4})",
    .python_definition =
        "def layer_norm(x, normalized_shape, weight, bias, eps):\n"
        "  dtype = torch.float32 if x.dtype in (torch.bfloat16, torch.float16) else x.dtype\n"
        "  dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))\n"
        "  variance, mean = torch.var_mean(x.to(dtype), dims, correction=0, keepdim=True)\n"
        "  y = torch.nn.functional.layer_norm(x, normalized_shape, weight, bias, eps)\n"
        "  return y, mean, torch.rsqrt(variance + eps)\n",
};

constinit const Symbol prims_layer_norm_backward_symbol{
    .signature =
        "prims.layer_norm_backward(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, "
        "int[] normalized_shape) -> (Tensor, Tensor, Tensor)",
    .documentation = "The cotangents of layer normalization's input, weight and bias.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& x = a[1].tensor();
          check_normalized(x, a[5].integers(), a[4].tensor_or_none(), {});
          Shape rows = x.shape();
          for (size_t d = rows.size() - a[5].integers().size(); d < rows.size(); ++d) rows[d] = 1;
          require(a[0].tensor().shape() == x.shape(), "grad has shape ", a[0].tensor().shape(), ", the input ",
                  x.shape());
          require(a[2].tensor().shape() == rows && a[3].tensor().shape() == rows, "mean and rstd have shapes ",
                  a[2].tensor().shape(), " and ", a[3].tensor().shape(), ", expected ", rows);
          const Dtype computed = compute_dtype(x.dtype());
          require(a[0].tensor().dtype() == x.dtype(), "grad is ", a[0].tensor().dtype(), ", the input ", x.dtype());
          require(a[2].tensor().dtype() == computed && a[3].tensor().dtype() == computed, "mean and rstd are ",
                  a[2].tensor().dtype(), " and ", a[3].tensor().dtype(), ", expected ", computed);
          const Dtype weight_dtype = a[4].is_tensor() ? a[4].tensor().dtype() : x.dtype();
          out.push_back(like(x, x.shape()));
          out.push_back({a[5].shape(), weight_dtype, x.device()});
          out.push_back({a[5].shape(), weight_dtype, x.device()});
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &input = a[1].tensor(), &average = a[2].tensor(), &rstd = a[3].tensor();
          const size_t count = a[5].integers().size();
          const Dims dims = last_dims(input.ndim(), count);
          const Dtype dtype = compute_dtype(input.dtype());
          const Dtype weight_dtype = a[4].is_tensor() ? a[4].tensor().dtype() : input.dtype();
          const Tensor grad = as_dtype(a[0].tensor(), dtype, at);
          const Tensor x = as_dtype(input, dtype, at);
          const Tensor centered = sub(x, average, 1, at);
          const Tensor normal = mul(centered, rstd, at);
          const Tensor scaled = a[4].is_tensor() ? mul(grad, as_dtype(a[4].tensor(), dtype, at), at) : grad;
          const Tensor mean_scaled = mean(scaled, dims, true, {}, at);
          const Tensor along = mul(scaled, normal, at);
          const Tensor mean_along = mean(along, dims, true, {}, at);
          const Tensor flat = sub(scaled, mean_scaled, 1, at);
          const Tensor projection = mul(normal, mean_along, at);
          const Tensor orthogonal = sub(flat, projection, 1, at);
          const Tensor dx = mul(orthogonal, rstd, at);
          const Tensor weight_terms = mul(grad, normal, at);
          const Tensor dweight = sum_leading(weight_terms, count, at);
          const Tensor dbias = sum_leading(grad, count, at);
          out.push_back(as_dtype(dx, input.dtype(), at));
          out.push_back(as_dtype(dweight, weight_dtype, at));
          out.push_back(as_dtype(dbias, weight_dtype, at));
        },
    .python = "layer_norm_backward({0}, {1}, {2}, {3}, {4}, {5})",
    .python_definition =
        "def layer_norm_backward(g, x, mean, rstd, weight, normalized_shape):\n"
        "  dims, leading = tuple(range(x.ndim - len(normalized_shape), x.ndim)), tuple(range(x.ndim - "
        "len(normalized_shape)))\n"
        "  total = lambda t: t.sum(leading) if leading else t\n"
        "  weight_dtype = x.dtype if weight is None else weight.dtype\n"
        "  g, normal = g.to(mean.dtype), (x.to(mean.dtype) - mean) * rstd\n"
        "  scaled = g if weight is None else g * weight.to(mean.dtype)\n"
        "  dx = (scaled - scaled.mean(dims, keepdim=True) - normal * (scaled * normal).mean(dims, keepdim=True)) * "
        "rstd\n"
        "  return dx.to(x.dtype), total(g * normal).to(weight_dtype), total(g).to(weight_dtype)\n",
};

constinit const Symbol layer_norm_symbol{
    .signature =
        "torch.nn.functional.layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
        "float eps=1e-05) -> Tensor",
    .documentation = "Brings the last dimensions to mean 0 and variance 1, then applies weight and bias.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          check_normalized(a[0].tensor(), a[1].integers(), a[2].tensor_or_none(), a[3].tensor_or_none());
          out.push_back(like(a[0].tensor(), a[0].tensor().shape()));
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const auto [y, average, rstd] = prims::layer_norm(a[0].tensor(), a[1].shape(), a[2].tensor_or_none(),
                                                            a[3].tensor_or_none(), a[4].floating(), at);
          out.push_back(y);
        },
};

constinit const Symbol rms_norm_symbol{
    .signature =
        "torch.nn.functional.rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
        "Tensor",
    .documentation = "Divides by the root of the mean square of the last dimensions, then applies weight.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          check_normalized(a[0].tensor(), a[1].integers(), a[2].tensor_or_none(), {});
          out.push_back(like(a[0].tensor(), a[0].tensor().shape()));
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          check_normalized(input, a[1].integers(), a[2].tensor_or_none(), {});
          const Dims dims = last_dims(input.ndim(), a[1].integers().size());
          const Dtype dtype = compute_dtype(input.dtype());
          const double smallest =
              dtype == Dtype::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
          const Float eps = a[3].is_none() ? Float(smallest) : a[3].floating();
          const Tensor x = as_dtype(input, dtype, at);
          const Tensor squares = mul(x, x, at);
          const Tensor average = mean(squares, dims, true, {}, at);
          const Tensor shifted = add(average, eps, 1, at);
          const Tensor scale = rsqrt(shifted, at);
          Tensor y = mul(x, scale, at);
          if (a[2].is_tensor()) y = mul(y, as_dtype(a[2].tensor(), dtype, at), at);
          out.push_back(as_dtype(y, input.dtype(), at));
        },
};

std::span<const Symbol* const> normalization_symbols() {
  static constexpr const Symbol* all[] = {&prims_layer_norm_symbol, &prims_layer_norm_backward_symbol,
                                          &layer_norm_symbol, &rms_norm_symbol};
  return all;
}

}  // namespace fulgurite
