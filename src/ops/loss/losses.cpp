// Losses. Their reduction is "mean", "sum" or "none".
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/loss/loss_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// The sum of `loss` over the sum of `weight`.
Tensor weighted_mean(const Tensor& loss, const Tensor& weight, SourceLocation at) {
  const Tensor total = sum(loss, {}, false, {}, at);
  const Tensor total_weight = sum(weight, {}, false, {}, at);
  return div(total, total_weight, {}, at);
}

/// The last step of mse_loss and l1_loss: elementwise losses, weighted if a weight is given, reduced.
Tensor elementwise_loss(Tensor loss, const Tensor& weight, std::string_view reduction, SourceLocation at) {
  if (!weight.defined()) return reduced(loss, reduction, at);
  require(weight.shape() == loss.shape(), "weight has shape ", weight.shape(), ", the loss ", loss.shape());
  loss = mul(loss, weight, at);
  return reduction == "mean" ? weighted_mean(loss, weight, at) : reduced(loss, reduction, at);
}

/// The class dimension of a loss's input.
int64_t class_dim(const Tensor& input) { return input.ndim() > 1 ? 1 : 0; }

/// The shape of class indices for an input of scores: without the class dimension.
Shape target_shape(const Tensor& input) {
  Shape shape = input.shape();
  shape.erase(class_dim(input));
  return shape;
}

void check_class_numbers(const Tensor& input, const Tensor& target, const Tensor& weight) {
  require(input.ndim() > 0, "input needs at least 1 dimension");
  require(is_floating(input.dtype()), "input must be floating, got ", input.dtype());
  require(target.dtype() == Dtype::i64 || target.dtype() == Dtype::i32,
          "target must hold class numbers, i64 or i32, got ", target.dtype());
  const Shape wanted = target_shape(input), got = target.shape();
  require(got == wanted, "target has shape ", got, ", an input of shape ", input.shape(), " takes ", wanted);
  const Int classes = input.size(static_cast<int>(class_dim(input)));
  if (weight.defined())
    require(weight.dtype() == input.dtype(), "weight is ", weight.dtype(), ", input is ", input.dtype());
  if (weight.defined())
    require(weight.ndim() == 1 && weight.size(0) == classes, "weight has shape ", weight.shape(), ", there are ",
            classes.hint(), " classes");
}

/// The parts of a target that count: a mask of elements other than ignore_index, class indices that are always valid,
/// and each element's weight (0 if ignored).
struct Selected {
  Tensor valid, classes, weight;
};
Selected select_targets(const Tensor& target, const Tensor& weight, Int ignore_index, Dtype dtype, SourceLocation at) {
  Selected s;
  s.valid = ne(target, ignore_index, at);
  s.classes = where(s.valid, target, 0, at);
  if (!weight.defined()) {
    s.weight = prims::convert_element_type(s.valid, dtype, at);
    return s;
  }
  const Tensor flat = reshape(s.classes, {target.numel()}, at);
  const Tensor chosen = index_select(weight, 0, flat, at);
  const Tensor shaped = reshape(chosen, target.shape(), at);
  s.weight = where(s.valid, as_dtype(shaped, dtype, at), 0.0, at);
  return s;
}

Tensor negative_log_likelihood(const Tensor& input, const Selected& selected, SourceLocation at) {
  const int64_t dim = class_dim(input);
  const Tensor places = unsqueeze(selected.classes, dim, at);
  const Tensor picked = gather(input, dim, places, at);
  const Tensor scores = squeeze(picked, dim, at);
  const Tensor weighted = mul(scores, selected.weight, at);
  const Tensor loss = neg(weighted, at);
  return where(selected.valid, loss, 0.0, at);
}

/// The cotangent of nll_loss's weight: each target adds its loss to that of its class, minus the mean loss if that is
/// divided by the weights.
Tensor class_weight_cotangent(const Gradient& g, std::string_view reduction) {
  const SourceLocation at{};
  const Tensor input = g.tensor(0), target = g.tensor(1), weight = g.tensor(2);
  const Int ignore_index = g.argument(4).integer();
  const Tensor loss = negative_log_likelihood(input, select_targets(target, {}, ignore_index, input.dtype(), at), at);
  const Selected selected = select_targets(target, weight, ignore_index, input.dtype(), at);
  Tensor share;
  if (reduction == "mean") {
    const Tensor centered = sub(loss, g.result());
    const Tensor total = sum(selected.weight);
    const Tensor scale = div(g.cotangent(), total);
    share = mul(centered, scale);
  } else {
    share = mul(loss, g.cotangent());
  }
  const Tensor counted = where(selected.valid, share, 0.0);
  const Tensor places = reshape(selected.classes, {target.numel()});
  const Tensor values = reshape(counted, {target.numel()});
  const Tensor empty = zeros(weight.shape(), {.dtype = input.dtype(), .device = input.device()});
  return scatter_add(empty, 0, places, values);
}

void infer_class_loss(const Tensor& input, std::string_view reduction, InferredTypes& out) {
  out.push_back(like(input, reduction == "none" ? target_shape(input) : Shape()));
}

void check_smoothing(Float smoothing) {
  require(smoothing >= 0.0 && smoothing <= 1.0, "label_smoothing must be from 0 to 1, got ", smoothing.hint());
}

/// -sum(log_probabilities * weight) over the classes.
Tensor spread_loss(const Tensor& log_probabilities, const Tensor& factors, const Tensor& weight, SourceLocation at) {
  const int64_t dim = class_dim(log_probabilities);
  Tensor terms = factors.defined() ? mul(log_probabilities, factors, at) : log_probabilities;
  if (weight.defined()) {
    Shape shape;
    shape.resize(log_probabilities.ndim(), 1);
    shape[dim] = weight.size(0);
    const Tensor shaped = reshape(weight, shape, at);
    terms = mul(terms, shaped, at);
  }
  const Tensor total = sum(terms, Dims(dim), false, {}, at);
  return neg(total, at);
}

Tensor probability_loss(const Tensor& log_probabilities, Tensor target, const Tensor& weight,
                        std::string_view reduction, Float smoothing, SourceLocation at) {
  require(target.shape() == log_probabilities.shape(), "target of probabilities has shape ", target.shape(), ", input ",
          log_probabilities.shape());
  const Int classes = target.size(static_cast<int>(class_dim(target)));
  if (smoothing != 0.0) {
    const Tensor kept = mul(target, 1.0 - smoothing, at);
    target = add(kept, smoothing / classes, 1, at);
  }
  const Tensor loss = spread_loss(log_probabilities, target, weight, at);
  if (reduction != "mean") return reduced(loss, reduction, at);
  const Tensor total = sum(loss, {}, false, {}, at);
  return div(total, loss.numel(), {}, at);
}

/// Cross entropy against class indices, with the share `smoothing` spread over all classes.
Tensor smoothed_loss(const Tensor& log_probabilities, const Tensor& target, const Tensor& weight, Int ignore_index,
                     std::string_view reduction, Float smoothing, SourceLocation at) {
  const Int classes = log_probabilities.size(static_cast<int>(class_dim(log_probabilities)));
  const Selected selected = select_targets(target, weight, ignore_index, log_probabilities.dtype(), at);
  const Tensor exact = negative_log_likelihood(log_probabilities, selected, at);
  const Tensor all = spread_loss(log_probabilities, {}, weight, at);
  const Tensor spread = where(selected.valid, all, 0.0, at);
  const Tensor main_part = mul(exact, 1.0 - smoothing, at);
  const Tensor spread_part = mul(spread, smoothing / classes, at);
  const Tensor loss = add(main_part, spread_part, 1, at);
  return reduction == "mean" ? weighted_mean(loss, selected.weight, at) : reduced(loss, reduction, at);
}

}  // namespace

constinit const Symbol nll_loss_symbol{
    .signature =
        "torch.nn.functional.nll_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
        "int ignore_index=-100, bool? reduce=None, str reduction='mean') -> Tensor",
    .documentation =
        "Minus the input at each target's class, weighted by class; targets equal to ignore_index do not count.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          check_class_numbers(a[0].tensor(), a[1].tensor(), a[2].tensor_or_none());
          infer_class_loss(a[0].tensor(), reduction_of(a[3], a[5], a[6]), out);
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          check_class_numbers(input, a[1].tensor(), a[2].tensor_or_none());
          const std::string_view reduction = reduction_of(a[3], a[5], a[6]);
          const Selected selected =
              select_targets(a[1].tensor(), a[2].tensor_or_none(), a[4].integer(), input.dtype(), at);
          const Tensor loss = negative_log_likelihood(input, selected, at);
          out.push_back(reduction == "mean" ? weighted_mean(loss, selected.weight, at) : reduced(loss, reduction, at));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor input = g.tensor(0);
          const Int classes = input.size(static_cast<int>(class_dim(input)));
          const std::string_view reduction = reduction_of(g.argument(3), g.argument(5), g.argument(6));
          if (g.needs(0))
            g.set(0, prims::nll_loss_backward(g.cotangent(), g.tensor(1), g.tensor(2), classes, g.argument(4).integer(),
                                              reduction));
          if (g.argument(2).is_tensor() && g.needs(2)) g.set(2, class_weight_cotangent(g, reduction));
        },
    .semantics = {.autocast = AutocastPolicy::wide, .class_loss = true},
};

constinit const Symbol prims_nll_loss_backward_symbol{
    .signature =
        "prims.nll_loss_backward(Tensor grad, Tensor target, Tensor? weight, int classes, int ignore_index, "
        "str reduction) -> Tensor",
    .documentation = "The cotangent of nll_loss's input: zero but at each target's class.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &grad = a[0].tensor(), &target = a[1].tensor();
          require(is_floating(grad.dtype()), "grad must be floating, not ", grad.dtype());
          require(target.dtype() == Dtype::i64 || target.dtype() == Dtype::i32,
                  "target must hold class numbers, i64 or i32, not ", target.dtype());
          const Shape wanted = a[5].string() == "none" ? target.shape() : Shape();
          require(grad.shape() == wanted, "grad has shape ", grad.shape(), ", expected ", wanted);
          if (a[2].is_tensor())
            require(a[2].tensor().dtype() == grad.dtype(), "weight is ", a[2].tensor().dtype(), ", grad is ",
                    grad.dtype());
          if (a[2].is_tensor())
            require(a[2].tensor().ndim() == 1 && a[2].tensor().size(0) == a[3].integer(), "weight has shape ",
                    a[2].tensor().shape(), " for ", a[3].integer().hint(), " classes");
          Shape shape = target.shape();
          shape.insert(shape.empty() ? 0 : 1, a[3].integer());
          out.push_back(like(grad, shape));
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &grad = a[0].tensor(), &target = a[1].tensor();
          const Selected selected = select_targets(target, a[2].tensor_or_none(), a[4].integer(), grad.dtype(), at);
          Tensor scale = grad;
          if (a[5].string() == "mean") {
            const Tensor total = sum(selected.weight, {}, false, {}, at);
            scale = div(grad, total, {}, at);
          }
          const Tensor weighted = mul(selected.weight, scale, at);
          const Tensor negated = neg(weighted, at);
          // If everything is ignored the scale is infinite or NaN; ignored elements have gradient 0 all the same.
          const Tensor values = where(selected.valid, negated, 0.0, at);
          const int64_t dim = target.ndim() == 0 ? 0 : 1;
          Shape shape = target.shape();
          shape.insert(dim, a[3].integer());
          const Tensor places = unsqueeze(selected.classes, dim, at);
          const Tensor sources = unsqueeze(values, dim, at);
          const Tensor empty = zeros(shape, {.dtype = grad.dtype(), .device = grad.device()}, at);
          out.push_back(scatter(empty, dim, places, sources, at));
        },
    .python = "nll_loss_backward({0}, {1}, {2}, {3}, {4}, {5})",
    .python_definition =
        "def nll_loss_backward(g, target, weight, classes, ignore_index, reduction):\n"
        "  dim = 0 if target.ndim == 0 else 1\n"
        "  valid = target != ignore_index\n"
        "  chosen = torch.where(valid, target, 0)\n"
        "  w = valid.to(g.dtype) if weight is None else torch.where(valid, weight[chosen].to(g.dtype), 0.0)\n"
        "  values = torch.where(valid, -(w * (g / w.sum() if reduction == 'mean' else g)), 0.0)\n"
        "  shape = target.shape[:dim] + (classes,) + target.shape[dim:]\n"
        "  zeros = torch.zeros(shape, dtype=g.dtype, device=g.device)\n"
        "  return zeros.scatter(dim, chosen.unsqueeze(dim), values.unsqueeze(dim))\n",
    .semantics = {.class_loss = true},
};

constinit const Symbol cross_entropy_symbol{
    .signature =
        "torch.nn.functional.cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "
        "int ignore_index=-100, bool? reduce=None, str reduction='mean', float label_smoothing=0.0) -> Tensor",
    .documentation =
        "The cross entropy of scores against class numbers, or against probabilities of the input's shape.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor &input = a[0].tensor(), &target = a[1].tensor();
          check_smoothing(a[7].floating());
          if (!is_floating(target.dtype())) check_class_numbers(input, target, a[2].tensor_or_none());
          else
            require(target.shape() == input.shape(), "target of probabilities has shape ", target.shape(), ", input ",
                    input.shape());
          infer_class_loss(input, reduction_of(a[3], a[5], a[6]), out);
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor &input = a[0].tensor(), &target = a[1].tensor();
          const Tensor weight = a[2].tensor_or_none();
          const std::string_view reduction = reduction_of(a[3], a[5], a[6]);
          const Float smoothing = a[7].floating();
          const Int ignore_index = a[4].integer();
          check_smoothing(smoothing);
          const bool numbers = !is_floating(target.dtype());
          if (numbers) check_class_numbers(input, target, weight);
          const Tensor scores = log_softmax(input, class_dim(input), {}, at);
          if (!numbers) {
            out.push_back(probability_loss(scores, target, weight, reduction, smoothing, at));
          } else if (smoothing == 0.0) {
            out.push_back(nn::nll_loss(scores, target, weight, {}, ignore_index, {}, reduction, at));
          } else {
            out.push_back(smoothed_loss(scores, target, weight, ignore_index, reduction, smoothing, at));
          }
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol mse_loss_symbol{
    .signature =
        "torch.nn.functional.mse_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, "
        "str reduction='mean', Tensor? weight=None) -> Tensor",
    .documentation = "The squared difference of input and target.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view reduction = reduction_of(a[2], a[3], a[4]);
          const Tensor difference = sub(a[0].tensor(), a[1].tensor(), 1, at);
          const Tensor loss = mul(difference, difference, at);
          warn_of_broadcasting("mse_loss", a[0].tensor(), a[1].tensor(), at);
          out.push_back(elementwise_loss(loss, a[5].tensor_or_none(), reduction, at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol l1_loss_symbol{
    .signature =
        "torch.nn.functional.l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, "
        "str reduction='mean', Tensor? weight=None) -> Tensor",
    .documentation = "The absolute difference of input and target.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const std::string_view reduction = reduction_of(a[2], a[3], a[4]);
          const Tensor difference = sub(a[0].tensor(), a[1].tensor(), 1, at);
          const Tensor loss = abs(difference, at);
          warn_of_broadcasting("l1_loss", a[0].tensor(), a[1].tensor(), at);
          out.push_back(elementwise_loss(loss, a[5].tensor_or_none(), reduction, at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

std::span<const Symbol* const> losses_symbols() {
  static constexpr const Symbol* all[] = {&nll_loss_symbol, &prims_nll_loss_backward_symbol, &cross_entropy_symbol,
                                          &mse_loss_symbol, &l1_loss_symbol};
  return all;
}

}  // namespace fulgurite
