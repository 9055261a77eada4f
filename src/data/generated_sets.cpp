#include <fulgurite/generated_sets.h>

#include <numbers>

#include <fulgurite/autograd_modes.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite::data {

namespace {

constexpr double pi = std::numbers::pi;

void check_count(int64_t n, const char* name, SourceLocation at) {
  if (n < 1) throw UserError(text::cat(name, ": the number of samples must be at least 1, not ", n), at);
}

Tensor uniform(const Shape& shape, const GeneratorOption& generator, SourceLocation at) {
  return rand(Dims(shape), {.dtype = Dtype::f32, .generator = generator}, at);
}
Tensor normal_numbers(const Shape& shape, const GeneratorOption& generator, SourceLocation at) {
  return randn(Dims(shape), {.dtype = Dtype::f32, .generator = generator}, at);
}
Tensor drawn_classes(int64_t n, int64_t classes, const GeneratorOption& generator, SourceLocation at) {
  return randint(0, classes, {n}, {.generator = generator}, at);
}

// Points (x, y) with noise.
Tensor points(const Tensor& x, const Tensor& y, const GeneratedOptions& options, SourceLocation at) {
  const Tensor exact = stack({x, y}, 1, at);
  return add(exact, normal_numbers(exact.shape(), options.generator, at), options.noise, at);
}

}  // namespace

std::pair<Tensor, Tensor> make_moons(int64_t n, const GeneratedOptions& options, SourceLocation at) {
  const NoGrad no_grad;
  check_count(n, "make_moons", at);
  const Tensor label = drawn_classes(n, 2, options.generator, at);
  const Tensor side = label.to(Dtype::f32, at);
  const Tensor angle = mul(uniform({n}, options.generator, at), pi, at);
  const Tensor sign = sub(1, mul(side, 2, at), 1, at);
  const Tensor x = add(mul(cos(angle, at), sign, at), side, 1, at);
  const Tensor y = add(mul(sin(angle, at), sign, at), side, 0.5, at);
  return {points(x, y, options, at), label};
}

std::pair<Tensor, Tensor> make_circles(int64_t n, const GeneratedOptions& options, SourceLocation at) {
  const NoGrad no_grad;
  check_count(n, "make_circles", at);
  const Tensor label = drawn_classes(n, 2, options.generator, at);
  const Tensor radius = sub(1, mul(label.to(Dtype::f32, at), 0.5, at), 1, at);
  const Tensor angle = mul(uniform({n}, options.generator, at), 2 * pi, at);
  const Tensor x = mul(radius, cos(angle, at), at);
  const Tensor y = mul(radius, sin(angle, at), at);
  return {points(x, y, options, at), label};
}

std::pair<Tensor, Tensor> make_spirals(int64_t n, const GeneratedOptions& options, SourceLocation at) {
  const NoGrad no_grad;
  check_count(n, "make_spirals", at);
  const Tensor label = drawn_classes(n, 2, options.generator, at);
  const Tensor radius = uniform({n}, options.generator, at);
  const Tensor turns = mul(radius, 3 * pi, at);
  const Tensor angle = add(turns, label.to(Dtype::f32, at), pi, at);
  const Tensor x = mul(radius, cos(angle, at), at);
  const Tensor y = mul(radius, sin(angle, at), at);
  return {points(x, y, options, at), label};
}

std::pair<Tensor, Tensor> make_blobs(int64_t n, const BlobsOptions& options, SourceLocation at) {
  const NoGrad no_grad;
  check_count(n, "make_blobs", at);
  if (options.classes < 1 || options.features < 1)
    throw UserError("make_blobs: there are at least one class and one feature", at);
  const Tensor shares = uniform({options.classes, options.features}, options.generator, at);
  const Tensor centres = mul(sub(mul(shares, 2, at), 1, 1, at), options.extent, at);
  const Tensor label = drawn_classes(n, options.classes, options.generator, at);
  const Tensor exact = index_select(centres, 0, label, at);
  return {add(exact, normal_numbers(exact.shape(), options.generator, at), options.spread, at), label};
}

std::pair<Tensor, Tensor> make_regression(int64_t n, const RegressionOptions& options, SourceLocation at) {
  const NoGrad no_grad;
  check_count(n, "make_regression", at);
  if (options.features < 1) throw UserError("make_regression: there is at least one feature", at);
  const Tensor x = normal_numbers({n, options.features}, options.generator, at);
  const Tensor weights = normal_numbers({options.features, 1}, options.generator, at);
  const Tensor exact = matmul(x, weights, at);
  return {x, add(exact, normal_numbers(exact.shape(), options.generator, at), options.noise, at)};
}

}  // namespace fulgurite::data
