// Random numbers from a generator of the program's own, and draws that are compositions of operators.
#include <fulgurite/random.h>

#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/tensor/in_place.h"
#include "support/context.h"
#include "tensor/number_range.h"

namespace fulgurite {

namespace {

/// The state of a draw of `count` numbers. A generator's is taken at once and at each call, so a recording ends its
/// piece.
Tensor state_of(const GeneratorOption& generator, Int count, const char* what, SourceLocation at) {
  if (!generator) return prims::random_state(count, at);
  act_immediately(what, at);
  const RandomState state = generator->state().next_random_state(count.hint());
  return tensor(std::vector<int64_t>{static_cast<int64_t>(state.seed), static_cast<int64_t>(state.offset)}, {}, at);
}

Tensor draw_uniform(const Shape& shape, Dtype dtype, const GeneratorOption& generator, const char* what,
                    SourceLocation at) {
  const Tensor state = state_of(generator, shape.numel(), what, at);
  return prims::uniform(state, Dims(shape), 0.0, 1.0, dtype, at);
}

Tensor draw_normal(const Shape& shape, Dtype dtype, double mean, double std, const GeneratorOption& generator,
                   const char* what, SourceLocation at) {
  const Tensor state = state_of(generator, shape.numel(), what, at);
  return prims::normal(state, Dims(shape), mean, std, dtype, at);
}

/// Numbers of 16 bits are computed from f32 ones, integers from f64 ones.
Dtype draw_dtype(Dtype dtype) { return !is_floating(dtype) || dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

/// Numbers of the exponential distribution of rate 1, above 0.
Tensor draw_exponential(const Shape& shape, Dtype dtype, const GeneratorOption& generator, const char* what,
                        SourceLocation at) {
  const Tensor drawn = draw_uniform(shape, dtype, generator, what, at);
  const Tensor rest = sub(1.0, drawn, 1, at);
  const Tensor logarithm = log(rest, at);
  const Tensor positive = neg(logarithm, at);
  return clamp_min(positive, dtype == Dtype::f64 ? 0x1p-53 : 0x1p-25, at);
}

const Tensor& defined(const Tensor& tensor, const char* what, SourceLocation at) {
  if (!tensor.defined()) throw UserError(text::cat(what, ": the tensor is undefined"), at);
  return tensor;
}

const Tensor& floating(const Tensor& tensor, const char* what, SourceLocation at) {
  if (!is_floating(defined(tensor, what, at).dtype()))
    throw UserError(text::cat(what, ": the tensor must be floating, not ", type_text(tensor)), at);
  return tensor;
}

void check(bool condition, const char* what, std::string_view demand, double value, SourceLocation at) {
  if (!condition) throw UserError(text::cat(what, ": ", demand, ", not ", value), at);
}

Tensor write(const Tensor& tensor, const Tensor& drawn, const char* what, SourceLocation at) {
  return write_in_place(tensor, drawn, what, at);
}

}  // namespace

namespace detail {

namespace {

constexpr const char* from_generator = "a draw from a generator";

Dtype floating_dtype(const RandomOptions& options, const char* what, SourceLocation at) {
  const Dtype dtype = options.dtype.value_or(default_dtype());
  if (!is_floating(dtype)) throw UserError(text::cat(what, ": the dtype must be floating, not ", dtype), at);
  return dtype;
}

void check_device(const RandomOptions& options, const char* what, SourceLocation at) {
  if (options.device != Device())
    throw UserError(text::cat(what, ": generators draw on cpu, not on ", options.device.name()), at);
}

Tensor finished(const Tensor& drawn, const RandomOptions& options) {
  return options.requires_grad ? drawn.requires_grad_() : drawn;
}

}  // namespace

Tensor draw_rand(const Shape& shape, const RandomOptions& options, SourceLocation at) {
  check_device(options, "rand", at);
  return finished(draw_uniform(shape, floating_dtype(options, "rand", at), options.generator, from_generator, at),
                  options);
}

Tensor draw_randn(const Shape& shape, const RandomOptions& options, SourceLocation at) {
  check_device(options, "randn", at);
  return finished(draw_normal(shape, floating_dtype(options, "randn", at), 0, 1, options.generator, from_generator, at),
                  options);
}

Tensor draw_randint(Int low, Int high, const Shape& shape, const RandomOptions& options, SourceLocation at) {
  check_device(options, "randint", at);
  const Dtype dtype = options.dtype.value_or(Dtype::i64);
  const Tensor state = state_of(options.generator, shape.numel(), from_generator, at);
  return finished(prims::random_integers(state, Dims(shape), low, high, dtype, at), options);
}

}  // namespace detail

Tensor randperm(int64_t n, const RandomOptions& options, SourceLocation at) {
  if (n < 0) throw UserError(text::cat("randperm: n must not be negative: ", n), at);
  const Dtype dtype = options.dtype.value_or(Dtype::i64);
  if (n > 0 && (is_floating(dtype) ? static_cast<double>(n - 1) > largest_number(dtype) : overflows(n - 1, dtype)))
    throw UserError(text::cat("randperm: ", n - 1, " does not fit into ", dtype), at);
  const Tensor keys = draw_uniform({n}, Dtype::f64, options.generator, "randperm() with a generator", at);
  Tensor order = argsort(keys, -1, false, true, at);
  if (dtype != Dtype::i64) order = order.to(dtype, at);
  return options.requires_grad ? order.requires_grad_() : order;
}

Tensor normal(double mean, double std, const Dims& size, const RandomOptions& options, SourceLocation at) {
  check(std >= 0, "normal", "std must not be negative", std, at);
  const Dtype dtype = options.dtype.value_or(default_dtype());
  if (!is_floating(dtype)) throw UserError(text::cat("normal: the dtype must be floating, not ", dtype), at);
  const Tensor drawn = draw_normal(size, dtype, mean, std, options.generator, "normal() with a generator", at);
  return options.requires_grad ? drawn.requires_grad_() : drawn;
}

Tensor normal(const Operand& mean, const Operand& std, const std::optional<Generator>& generator, SourceLocation at) {
  if (!mean.is_tensor() && !std.is_tensor())
    throw UserError("normal: mean or std must be a tensor, or give the size: normal(0, 1, {3})", at);
  const Tensor& like = floating(mean.is_tensor() ? mean.tensor() : std.tensor(), "normal", at);
  const Shape shape = mean.is_tensor() && std.is_tensor()
                          ? broadcast_shapes(mean.tensor().shape(), std.tensor().shape())
                          : like.shape();
  const Tensor drawn = draw_normal(shape, like.dtype(), 0, 1, generator, "normal() with a generator", at);
  const Tensor scaled = mul(drawn, std, at);
  return add(scaled, mean, 1, at);
}

Tensor normal_(const Tensor& x, double mean, double std, const std::optional<Generator>& generator, SourceLocation at) {
  floating(x, "normal_", at);
  check(std >= 0, "normal_", "std must not be negative", std, at);
  return write(x, draw_normal(x.shape(), x.dtype(), mean, std, generator, "normal_() with a generator", at), "normal_",
               at);
}

Tensor uniform_(const Tensor& x, double from, double to, const std::optional<Generator>& generator, SourceLocation at) {
  floating(x, "uniform_", at);
  const Tensor state = state_of(generator, x.numel(), "uniform_() with a generator", at);
  return write(x, prims::uniform(state, Dims(x.shape()), from, to, x.dtype(), at), "uniform_", at);
}

Tensor exponential_(const Tensor& x, double lambd, const std::optional<Generator>& generator, SourceLocation at) {
  floating(x, "exponential_", at);
  check(lambd > 0, "exponential_", "lambd must be positive", lambd, at);
  const Tensor drawn =
      draw_exponential(x.shape(), draw_dtype(x.dtype()), generator, "exponential_() with a generator", at);
  return write(x, div(drawn, lambd, {}, at), "exponential_", at);
}

Tensor log_normal_(const Tensor& x, double mean, double std, const std::optional<Generator>& generator,
                   SourceLocation at) {
  floating(x, "log_normal_", at);
  check(std > 0, "log_normal_", "std must be positive", std, at);
  const Tensor drawn =
      draw_normal(x.shape(), draw_dtype(x.dtype()), mean, std, generator, "log_normal_() with a generator", at);
  return write(x, exp(drawn, at), "log_normal_", at);
}

Tensor cauchy_(const Tensor& x, double median, double sigma, const std::optional<Generator>& generator,
               SourceLocation at) {
  floating(x, "cauchy_", at);
  check(sigma > 0, "cauchy_", "sigma must be positive", sigma, at);
  const Tensor drawn = draw_uniform(x.shape(), Dtype::f64, generator, "cauchy_() with a generator", at);
  const Tensor centred = sub(drawn, 0.5, 1, at);
  const Tensor angle = mul(centred, 3.14159265358979323846, at);
  const Tensor slope = tan(angle, at);
  const Tensor scaled = mul(slope, sigma, at);
  return write(x, add(scaled, median, 1, at), "cauchy_", at);
}

Tensor geometric_(const Tensor& x, double p, const std::optional<Generator>& generator, SourceLocation at) {
  defined(x, "geometric_", at);
  check(p > 0 && p < 1, "geometric_", "p must be between 0 and 1", p, at);
  const Tensor drawn = draw_exponential(x.shape(), Dtype::f64, generator, "geometric_() with a generator", at);
  const Tensor trials = div(drawn, -std::log1p(-p), {}, at);
  return write(x, ceil(trials, at), "geometric_", at);
}

Tensor bernoulli_(const Tensor& x, const Operand& p, const std::optional<Generator>& generator, SourceLocation at) {
  defined(x, "bernoulli_", at);
  if (p.kind() == Operand::Kind::none) throw UserError("bernoulli_: p is an undefined tensor", at);
  if (p.is_tensor()) floating(p.tensor(), "bernoulli_", at);
  else if (p.kind() == Operand::Kind::floating)
    check(p.floating() >= 0 && p.floating() <= 1, "bernoulli_", "p must be from 0 to 1", p.floating().hint(), at);
  const Dtype dtype = p.is_tensor() ? draw_dtype(p.tensor().dtype()) : Dtype::f64;
  const Tensor drawn = draw_uniform(x.shape(), dtype, generator, "bernoulli_() with a generator", at);
  return write(x, lt(drawn, p, at), "bernoulli_", at);
}

Tensor bernoulli(const Tensor& x, const std::optional<Generator>& generator, SourceLocation at) {
  floating(x, "bernoulli", at);
  const Tensor drawn = draw_uniform(x.shape(), draw_dtype(x.dtype()), generator, "bernoulli() with a generator", at);
  return lt(drawn, x.detach(at), at).to(x.dtype(), at);
}
Tensor bernoulli(const Tensor& x, double p, const std::optional<Generator>& generator, SourceLocation at) {
  defined(x, "bernoulli", at);
  check(p >= 0 && p <= 1, "bernoulli", "p must be from 0 to 1", p, at);
  return lt(draw_uniform(x.shape(), Dtype::f64, generator, "bernoulli() with a generator", at), p, at)
      .to(x.dtype(), at);
}

Tensor random_(const Tensor& x, int64_t from, int64_t to, const std::optional<Generator>& generator,
               SourceLocation at) {
  defined(x, "random_", at);
  if (from >= to) throw UserError(text::cat("random_: from must be below to: ", from, " and ", to), at);
  const Tensor state = state_of(generator, x.numel(), "random_() with a generator", at);
  const Dtype dtype = x.dtype() == Dtype::boolean ? Dtype::u8 : x.dtype();
  return write(x, prims::random_integers(state, Dims(x.shape()), from, to, dtype, at), "random_", at);
}
Tensor random_(const Tensor& x, int64_t to, const std::optional<Generator>& generator, SourceLocation at) {
  return random_(x, 0, to, generator, at);
}
Tensor random_(const Tensor& x, const std::optional<Generator>& generator, SourceLocation at) {
  switch (defined(x, "random_", at).dtype()) {
    case Dtype::boolean: return random_(x, 0, 2, generator, at);
    case Dtype::u8: return random_(x, 0, 256, generator, at);
    case Dtype::i8: return random_(x, 0, 128, generator, at);
    case Dtype::i16: return random_(x, 0, 32768, generator, at);
    case Dtype::i32: return random_(x, 0, int64_t{1} << 31, generator, at);
    case Dtype::i64: return random_(x, 0, INT64_MAX, generator, at);
    case Dtype::f64: return random_(x, 0, (int64_t{1} << 53) + 1, generator, at);
    case Dtype::f32: return random_(x, 0, (int64_t{1} << 24) + 1, generator, at);
    case Dtype::f16: return random_(x, 0, (int64_t{1} << 11) + 1, generator, at);
    case Dtype::bf16: return random_(x, 0, (int64_t{1} << 8) + 1, generator, at);
  }
  return x;
}

namespace {

/// Weights that exist can be looked at; in a trace they cannot.
void check_weights(const Tensor& weights, int64_t count, bool replacement, SourceLocation at) {
  if (innermost_interpreter()) return;
  const Tensor good = logical_and(ge(weights, 0, at), isfinite(weights, at), at);
  if (!all(good, {}, false, at).item<bool>())
    throw UserError("multinomial: the weights must be finite and not negative", at);
  const Tensor positive = sum(gt(weights, 0, at), {-1}, false, {}, at);
  const int64_t fewest = positive.numel() == 0 ? INT64_MAX : amin(positive, {}, false, at).item<int64_t>();
  if (fewest < 1) throw UserError("multinomial: the weights of a row sum to 0", at);
  if (!replacement && fewest < count)
    throw UserError(text::cat("multinomial: ", count, " samples without replacement of a row with ", fewest,
                              " weights above 0; give replacement = true or fewer samples"),
                    at);
}

}  // namespace

Tensor multinomial(const Tensor& input, int64_t count, bool replacement, const std::optional<Generator>& generator,
                   SourceLocation at) {
  const NoGrad no_grad;
  floating(input, "multinomial", at);
  if (input.ndim() != 1 && input.ndim() != 2)
    throw UserError(text::cat("multinomial: the weights have 1 or 2 dimensions, not ", type_text(input)), at);
  if (count < 1) throw UserError(text::cat("multinomial: num_samples must be at least 1, not ", count), at);
  if (!replacement && input.size(-1) < count)
    throw UserError(text::cat("multinomial: ", count, " samples without replacement of ", input.size(-1), " weights"),
                    at);
  check_weights(input, count, replacement, at);
  const Tensor weights = input.to(Dtype::f64, at);
  if (!replacement) {  // the first arrivals of processes with these rates
    const Tensor waits = draw_exponential(weights.shape(), Dtype::f64, generator, "multinomial() with a generator", at);
    const Tensor speed = div(weights, waits, {}, at);
    return std::get<1>(topk(speed, count, -1, true, true, at));
  }
  const Tensor sums = cumsum(weights, -1, {}, at);
  const Tensor total = narrow(sums, -1, weights.size(-1) - 1, 1, at);
  const Tensor shares = div(sums, total, {}, at);
  Shape shape = weights.shape();
  shape[shape.size() - 1] = count;
  const Tensor drawn = draw_uniform(shape, Dtype::f64, generator, "multinomial() with a generator", at);
  return searchsorted(shares, drawn, false, true, {}, {}, at);
}

}  // namespace fulgurite
