#pragma once
#include <fulgurite/random.h>

namespace fulgurite::distributions {

/// Numbers of the standard distributions, which others are made of. Those in open intervals never are their ends.
Tensor standard_normal(const Shape& shape, const RandomOptions& options, SourceLocation at);
Tensor standard_exponential(const Shape& shape, const RandomOptions& options, SourceLocation at);
/// Above 0 and below 1.
Tensor open_uniform(const Shape& shape, const RandomOptions& options, SourceLocation at);
/// Gamma numbers of rate 1 in the shape of `concentration`, with gradients of first order. The number of attempts
/// depends on the draws: causes a graph break while tracing.
Tensor standard_gamma(const Tensor& concentration, const GeneratorOption& generator, SourceLocation at);

}  // namespace fulgurite::distributions
