#include <fulgurite/distribution.h>

#include <algorithm>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/compositions.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::distributions {

namespace {

Dtype dtype_of(const std::vector<Operand>& values) {
  for (const Operand& value : values)
    if (value.is_tensor() && is_floating(value.tensor().dtype())) return value.tensor().dtype();
  return default_dtype();
}

Tensor tensor_of(const Operand& value, Dtype dtype, std::string_view name, const char* parameter, SourceLocation at) {
  if (value.kind() == Operand::Kind::none)
    throw UserError(text::cat("distributions::", name, ": ", parameter, " is an undefined tensor"), at);
  if (value.is_tensor()) return value.tensor().to(dtype, at);
  return mul(ones({}, {.dtype = dtype}, at), value, at);
}

// The elements are read, so tensors without any are not looked at: a recording does not.
bool holds_everywhere(const Tensor& condition, SourceLocation at) {
  return innermost_interpreter() || all(condition, {}, false, at).item<bool>();
}

}  // namespace

void Distribution::refuse(std::string_view what, SourceLocation at) const {
  throw UserError(text::cat("distributions::", name_, " has no ", what), at);
}

Shape Distribution::drawn_shape(const Dims& sample_shape) const {
  Shape out;
  for (size_t i = 0; i < sample_shape.size(); ++i) out.push_back(sample_shape[i]);
  for (const Int& size : batch_shape_) out.push_back(size);
  for (const Int& size : event_shape_) out.push_back(size);
  return out;
}

Tensor Distribution::sample(const Dims& sample_shape, const GeneratorOption& generator, SourceLocation at) const {
  const NoGrad no_grad;
  return draw(drawn_shape(sample_shape), generator, at);
}

Tensor Distribution::rsample(const Dims& sample_shape, const GeneratorOption& generator, SourceLocation at) const {
  if (!has_rsample())
    throw UserError(text::cat("distributions::", name_,
                              " has no rsample(): its draws have no gradients; use sample(), "
                              "and log_prob() for an estimate of the gradient"),
                    at);
  return draw(drawn_shape(sample_shape), generator, at);
}

Tensor Distribution::mean(SourceLocation at) const { refuse("mean()", at); }
Tensor Distribution::variance(SourceLocation at) const { refuse("variance()", at); }
Tensor Distribution::stddev(SourceLocation at) const { return sqrt(variance(at), at); }
Tensor Distribution::entropy(SourceLocation at) const { refuse("entropy()", at); }
Tensor Distribution::cdf(const Tensor&, SourceLocation at) const { refuse("cdf()", at); }
Tensor Distribution::icdf(const Tensor&, SourceLocation at) const { refuse("icdf()", at); }

Parametrized::Parametrized(std::string_view name, std::vector<Tensor> parameters)
    : Distribution(name, parameters[0].shape(), {}, parameters[0].dtype()), parameters_(std::move(parameters)) {}

Parametrized::Parametrized(std::string_view name, const std::vector<Parameter>& parameters, SourceLocation at)
    : Parametrized(name, broadcast_parameters(name, parameters, at)) {}

std::vector<Tensor> Parametrized::broadcast_parameters(std::string_view name, const std::vector<Parameter>& parameters,
                                                       SourceLocation at) {
  std::vector<Operand> values;
  for (const Parameter& parameter : parameters) values.push_back(parameter.value);
  const Dtype dtype = dtype_of(values);
  std::vector<Tensor> out;
  for (const Parameter& parameter : parameters) {
    out.push_back(tensor_of(parameter.value, dtype, name, parameter.name, at));
    check(name, parameter, out.back(), at);
  }
  return broadcast_tensors(out, at);
}

void Parametrized::check(std::string_view name, const Parameter& parameter, const Tensor& value, SourceLocation at) {
  const auto demand = [&](const Tensor& condition, std::string_view range) {
    if (!holds_everywhere(condition, at))
      throw UserError(text::cat("distributions::", name, ": ", parameter.name, " must be ", range), at);
  };
  switch (parameter.range) {
    case Range::any: return demand(eq(value, value, at), "a number");
    case Range::positive: return demand(gt(value, 0, at), "above 0");
    case Range::not_negative: return demand(ge(value, 0, at), "at least 0");
    case Range::probability: {
      const Tensor low = ge(value, 0, at);
      const Tensor high = le(value, 1, at);
      return demand(logical_and(low, high, at), "from 0 to 1");
    }
  }
}

}  // namespace fulgurite::distributions
