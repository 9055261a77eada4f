// softmax and log_softmax.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

void infer_softmax(Arguments a, InferredTypes& out) {
  const Tensor& input = a[0].tensor();
  wrap_dim(a[1].integer(), input.ndim());
  const Dtype dtype = a[2].optional_dtype().value_or(input.dtype());
  require(is_floating(dtype), "the result must be floating, got ", dtype, "; give dtype");
  out.push_back({input.shape(), dtype, input.device()});
}

void infer_backward(Arguments a, InferredTypes& out) {
  const Tensor& y = a[1].tensor();
  wrap_dim(a[2].integer(), y.ndim());
  require(is_floating(y.dtype()), "output must be floating, not ", y.dtype());
  require(a[0].tensor().dtype() == y.dtype() && a[0].tensor().shape() == y.shape(), "grad is ",
          type_text(a[0].tensor()), ", the output ", type_text(y));
  out.push_back(like(y, y.shape()));
}

/// The input of a softmax in the compute dtype, minus its maximum along `dim`. A 0-d tensor becomes a row of one.
Tensor shifted_input(Arguments a, Dims& dim, SourceLocation at) {
  const Tensor& input = a[0].tensor();
  dim = Dims(wrap_dim(a[1].integer(), input.ndim()));
  const Dtype dtype = a[2].optional_dtype().value_or(input.dtype());
  Tensor x = as_dtype(as_dtype(input, dtype, at), compute_dtype(dtype), at);
  if (x.ndim() == 0) x = reshape(x, {1}, at);
  if (x.size(static_cast<int>(wrap_dim(a[1].integer(), x.ndim()))) == 0) return x;  // there is no maximum
  const Tensor maximum = amax(x, dim, true, at);
  return sub(x, maximum, 1, at);
}

/// Converts the result to the requested dtype and shape.
Tensor finished(Tensor y, Arguments a, SourceLocation at) {
  const Tensor& input = a[0].tensor();
  if (input.ndim() == 0) y = reshape(y, Dims(), at);
  return as_dtype(y, a[2].optional_dtype().value_or(input.dtype()), at);
}

Tensor sum_along(const Tensor& x, const Argument& dim, SourceLocation at) {
  return x.ndim() == 0 ? x : sum(x, Dims(wrap_dim(dim.integer(), x.ndim())), true, {}, at);
}

}  // namespace

constinit const Symbol softmax_symbol{
    .signature = "torch.softmax(Tensor input, int dim, Dtype? dtype=None) -> Tensor",
    .documentation = "exp(x) divided by its sum along a dimension.",
    .infer = infer_softmax,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          Dims dim;
          const Tensor shifted = shifted_input(a, dim, at);
          const Tensor numerators = exp(shifted, at);
          const Tensor total = sum(numerators, dim, true, {}, at);
          const Tensor y = div(numerators, total, {}, at);
          out.push_back(finished(y, a, at));
        },
    .gradient =
        [](Gradient& g) { g.set(0, prims::softmax_backward(g.cotangent(), g.result(), g.argument(1).integer())); },
};

constinit const Symbol log_softmax_symbol{
    .signature = "torch.log_softmax(Tensor input, int dim, Dtype? dtype=None) -> Tensor",
    .documentation = "The logarithm of softmax, computed without overflow.",
    .infer = infer_softmax,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          Dims dim;
          const Tensor shifted = shifted_input(a, dim, at);
          const Tensor numerators = exp(shifted, at);
          const Tensor total = sum(numerators, dim, true, {}, at);
          const Tensor log_total = log(total, at);
          const Tensor y = sub(shifted, log_total, 1, at);
          out.push_back(finished(y, a, at));
        },
    .gradient =
        [](Gradient& g) { g.set(0, prims::log_softmax_backward(g.cotangent(), g.result(), g.argument(1).integer())); },
};

constinit const Symbol softmin_symbol{
    .signature = "torch.nn.functional.softmin(Tensor input, int dim, *, Dtype? dtype=None) -> Tensor",
    .documentation = "softmax of -x: the smaller an element, the larger its share.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor negated = neg(a[0].tensor(), at);
          out.push_back(softmax(negated, a[1].integer(), a[2].optional_dtype(), at));
        },
    .python = "torch.nn.functional.softmin({0}, {1}, dtype={2})",
};

constinit const Symbol prims_softmax_backward_symbol{
    .signature = "prims.softmax_backward(Tensor grad, Tensor output, int dim) -> Tensor",
    .documentation = "The cotangent of softmax's input: (grad - sum(grad * output)) * output.",
    .infer = infer_backward,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Dtype dtype = compute_dtype(a[1].tensor().dtype());
          const Tensor grad = as_dtype(a[0].tensor(), dtype, at);
          const Tensor y = as_dtype(a[1].tensor(), dtype, at);
          const Tensor weighted = mul(grad, y, at);
          const Tensor total = sum_along(weighted, a[2], at);
          const Tensor centered = sub(grad, total, 1, at);
          const Tensor dx = mul(centered, y, at);
          out.push_back(as_dtype(dx, a[1].tensor().dtype(), at));
        },
    .python = "torch.ops.aten._softmax_backward_data({0}, {1}, {2}, {1}.dtype)",
};

constinit const Symbol prims_log_softmax_backward_symbol{
    .signature = "prims.log_softmax_backward(Tensor grad, Tensor output, int dim) -> Tensor",
    .documentation = "The cotangent of log_softmax's input: grad - exp(output) * sum(grad).",
    .infer = infer_backward,
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Dtype dtype = compute_dtype(a[1].tensor().dtype());
          const Tensor grad = as_dtype(a[0].tensor(), dtype, at);
          const Tensor y = as_dtype(a[1].tensor(), dtype, at);
          const Tensor total = sum_along(grad, a[2], at);
          const Tensor probabilities = exp(y, at);
          const Tensor share = mul(probabilities, total, at);
          const Tensor dx = sub(grad, share, 1, at);
          out.push_back(as_dtype(dx, a[1].tensor().dtype(), at));
        },
    .python = "torch.ops.aten._log_softmax_backward_data({0}, {1}, {2}, {1}.dtype)",
};

std::span<const Symbol* const> softmax_symbols() {
  static constexpr const Symbol* all[] = {&softmax_symbol, &log_softmax_symbol, &softmin_symbol,
                                          &prims_softmax_backward_symbol, &prims_log_softmax_backward_symbol};
  return all;
}

}  // namespace fulgurite
