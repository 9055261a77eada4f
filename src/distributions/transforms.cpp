#include <cmath>
#include <utility>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/transformed_distributions.h>

#include "support/text/text.h"

namespace fulgurite::distributions {

namespace {

// A number becomes an f64 tensor without dimensions, which promotes no other floating tensor.
Tensor held(const Operand& value, const char* name, SourceLocation at) {
  if (value.kind() == Operand::Kind::none)
    throw UserError(text::cat("distributions::", name, ": a parameter is an undefined tensor"), at);
  if (value.is_tensor()) return value.tensor();
  return mul(ones({}, {.dtype = Dtype::f64}, at), value, at);
}

Tensor softplus_of(const Tensor& x, SourceLocation at) { return nn::softplus(x, 1.0, 20.0, at); }

}  // namespace

AffineTransform::AffineTransform(const Operand& loc, const Operand& scale, SourceLocation at)
    : loc_(held(loc, "AffineTransform", at)), scale_(held(scale, "AffineTransform", at)) {}
Tensor AffineTransform::operator()(const Tensor& x, SourceLocation at) const {
  return add(mul(x, scale_, at), loc_, 1, at);
}
Tensor AffineTransform::inverse(const Tensor& y, SourceLocation at) const {
  return div(sub(y, loc_, 1, at), scale_, {}, at);
}
Tensor AffineTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&, SourceLocation at) const {
  const Tensor slope = log(abs(scale_, at), at).to(x.dtype(), at);
  return add(zeros_like(x, {}, at), slope, 1, at);
}

Tensor ExpTransform::operator()(const Tensor& x, SourceLocation at) const { return exp(x, at); }
Tensor ExpTransform::inverse(const Tensor& y, SourceLocation at) const { return log(y, at); }
Tensor ExpTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&, SourceLocation) const { return x; }

Tensor SigmoidTransform::operator()(const Tensor& x, SourceLocation at) const { return sigmoid(x, at); }
Tensor SigmoidTransform::inverse(const Tensor& y, SourceLocation at) const { return logit(y, {}, at); }
Tensor SigmoidTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&, SourceLocation at) const {
  const Tensor left = softplus_of(neg(x, at), at);
  return neg(add(left, softplus_of(x, at), 1, at), at);
}

Tensor TanhTransform::operator()(const Tensor& x, SourceLocation at) const { return tanh(x, at); }
Tensor TanhTransform::inverse(const Tensor& y, SourceLocation at) const { return atanh(y, at); }
Tensor TanhTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&, SourceLocation at) const {
  const Tensor decay = softplus_of(mul(x, -2, at), at);  // 1 - tanh(x)^2 would round to 0
  return mul(sub(sub(std::log(2.0), x, 1, at), decay, 1, at), 2, at);
}

Tensor SoftplusTransform::operator()(const Tensor& x, SourceLocation at) const { return softplus_of(x, at); }
Tensor SoftplusTransform::inverse(const Tensor& y, SourceLocation at) const {
  return add(log(neg(expm1(neg(y, at), at), at), at), y, 1, at);
}
Tensor SoftplusTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&, SourceLocation at) const {
  return neg(softplus_of(neg(x, at), at), at);
}

PowerTransform::PowerTransform(const Operand& exponent, SourceLocation at)
    : exponent_(held(exponent, "PowerTransform", at)) {}
Tensor PowerTransform::operator()(const Tensor& x, SourceLocation at) const { return pow(x, exponent_, at); }
Tensor PowerTransform::inverse(const Tensor& y, SourceLocation at) const {
  return pow(y, reciprocal(exponent_, at), at);
}
Tensor PowerTransform::log_abs_det_jacobian(const Tensor& x, const Tensor& y, SourceLocation at) const {
  const Tensor ratio = div(y, x, {}, at);
  return log(abs(mul(ratio, exponent_, at), at), at);
}

namespace {

const AnyDistribution& checked(const AnyDistribution& base, const std::vector<AnyTransform>& transforms,
                               SourceLocation at) {
  if (!base) throw UserError("distributions::TransformedDistribution: the base is null", at);
  for (const AnyTransform& transform : transforms)
    if (!transform) throw UserError("distributions::TransformedDistribution: a transform is null", at);
  return base;
}

}  // namespace

TransformedDistribution::TransformedDistribution(AnyDistribution base, std::vector<AnyTransform> transforms,
                                                 SourceLocation at)
    : Distribution("TransformedDistribution", checked(base, transforms, at)->batch_shape(),
                   checked(base, transforms, at)->event_shape(), checked(base, transforms, at)->dtype()),
      base_(std::move(base)),
      transforms_(std::move(transforms)) {}

Tensor TransformedDistribution::log_prob(const Tensor& value, SourceLocation at) const {
  Tensor y = value, slopes;
  for (size_t i = transforms_.size(); i-- > 0;) {
    const Tensor x = transforms_[i]->inverse(y, at);
    const Tensor slope = transforms_[i]->log_abs_det_jacobian(x, y, at);
    slopes = slopes.defined() ? add(slopes, slope, 1, at) : slope;
    y = x;
  }
  Tensor density = base_->log_prob(y, at);
  if (!slopes.defined()) return density;
  for (size_t i = 0; i < event_shape().size(); ++i) slopes = sum(slopes, {-1}, false, {}, at);
  return sub(density, slopes, 1, at);
}

Tensor TransformedDistribution::draw(const Shape& shape, const GeneratorOption& generator, SourceLocation at) const {
  Shape samples;
  const size_t own = batch_shape().size() + event_shape().size();
  for (size_t i = 0; i + own < shape.size(); ++i) samples.push_back(shape[i]);
  Tensor value =
      base_->has_rsample() ? base_->rsample(Dims(samples), generator, at) : base_->sample(Dims(samples), generator, at);
  for (const AnyTransform& transform : transforms_) value = (*transform)(value, at);
  return value;
}

}  // namespace fulgurite::distributions
