#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <optional>

#include <fulgurite/generator.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Random numbers beside the creators of operators.h, and from a generator of the program's own. Without a generator,
// numbers come from the one that manual_seed() seeds; such draws are part of a traced function.

/// A generator, or the one that manual_seed() seeds.
using GeneratorOption = std::optional<Generator>;

/// Arguments of creators of random tensors beside the shape; members are given in this order.
struct RandomOptions {
  std::optional<Dtype> dtype = {};
  Device device = {};
  bool requires_grad = false;
  GeneratorOption generator = {};
};

namespace detail {
Tensor draw_rand(const Shape&, const RandomOptions&, SourceLocation);
Tensor draw_randn(const Shape&, const RandomOptions&, SourceLocation);
Tensor draw_randint(Int low, Int high, const Shape&, const RandomOptions&, SourceLocation);
}  // namespace detail

/// Random creators with a generator: `rand({3}, {.generator = g})`. Templates, so that options without one are those
/// of operators.h.
template <int = 0>
Tensor rand(const Dims& size, const RandomOptions& options, SourceLocation at = SourceLocation::here()) {
  return detail::draw_rand(size, options, at);
}
template <int = 0>
Tensor randn(const Dims& size, const RandomOptions& options, SourceLocation at = SourceLocation::here()) {
  return detail::draw_randn(size, options, at);
}
template <int = 0>
Tensor randint(Int low, Int high, const Dims& size, const RandomOptions& options,
               SourceLocation at = SourceLocation::here()) {
  return detail::draw_randint(low, high, size, options, at);
}
template <int = 0>
Tensor rand_like(const Tensor& input, RandomOptions options, SourceLocation at = SourceLocation::here()) {
  if (!options.dtype) options.dtype = input.dtype();
  return detail::draw_rand(input.shape(), options, at);
}
template <int = 0>
Tensor randn_like(const Tensor& input, RandomOptions options, SourceLocation at = SourceLocation::here()) {
  if (!options.dtype) options.dtype = input.dtype();
  return detail::draw_randn(input.shape(), options, at);
}

/// The numbers from 0 to below n in random order, as i64 or another dtype (torch.randperm). Throws UserError for a
/// negative n.
Tensor randperm(int64_t n, const RandomOptions& options = {}, SourceLocation at = SourceLocation::here());
/// Normally distributed numbers (torch.normal). Throws UserError for a negative std.
Tensor normal(double mean, double std, const Dims& size, const RandomOptions& options = {},
              SourceLocation at = SourceLocation::here());
/// The same with a mean and a standard deviation for each element; both broadcast, at least one is a floating tensor.
Tensor normal(const Operand& mean, const Operand& std = 1.0, const GeneratorOption& generator = {},
              SourceLocation at = SourceLocation::here());
/// Ones with the probabilities that `input` holds, else zeros (torch.bernoulli).
Tensor bernoulli(const Tensor& input, const GeneratorOption& generator = {},
                 SourceLocation at = SourceLocation::here());
/// Ones with probability p in the sizes and dtype of `input`, else zeros.
Tensor bernoulli(const Tensor& input, double p, const GeneratorOption& generator = {},
                 SourceLocation at = SourceLocation::here());
/// Indices drawn with the weights that the rows of `input` hold (torch.multinomial). Eagerly, weights that are negative
/// or not finite, sum to 0 or are too few above 0 throw UserError.
Tensor multinomial(const Tensor& input, int64_t num_samples, bool replacement = false,
                   const GeneratorOption& generator = {}, SourceLocation at = SourceLocation::here());

// Draws into a tensor, which is returned. Settings out of range throw UserError.

/// Normal numbers (torch.Tensor.normal_).
Tensor normal_(const Tensor& input, double mean = 0, double std = 1, const GeneratorOption& generator = {},
               SourceLocation at = SourceLocation::here());
/// Even numbers from `from` to below `to` (torch.Tensor.uniform_).
Tensor uniform_(const Tensor& input, double from = 0, double to = 1, const GeneratorOption& generator = {},
                SourceLocation at = SourceLocation::here());
/// Numbers of the exponential distribution of this rate (torch.Tensor.exponential_).
Tensor exponential_(const Tensor& input, double lambd = 1, const GeneratorOption& generator = {},
                    SourceLocation at = SourceLocation::here());
/// The exponential of normal numbers (torch.Tensor.log_normal_).
Tensor log_normal_(const Tensor& input, double mean = 1, double std = 2, const GeneratorOption& generator = {},
                   SourceLocation at = SourceLocation::here());
/// Numbers of Cauchy's distribution (torch.Tensor.cauchy_).
Tensor cauchy_(const Tensor& input, double median = 0, double sigma = 1, const GeneratorOption& generator = {},
               SourceLocation at = SourceLocation::here());
/// Counts of trials up to the first success of probability p (torch.Tensor.geometric_).
Tensor geometric_(const Tensor& input, double p, const GeneratorOption& generator = {},
                  SourceLocation at = SourceLocation::here());
/// Ones with probability p, a number or a tensor of them, else zeros (torch.Tensor.bernoulli_).
Tensor bernoulli_(const Tensor& input, const Operand& p = 0.5, const GeneratorOption& generator = {},
                  SourceLocation at = SourceLocation::here());
/// Integers from `from` to below `to`, from 0 to below `to`, or up to the largest that the dtype has
/// (torch.Tensor.random_).
Tensor random_(const Tensor& input, int64_t from, int64_t to, const GeneratorOption& generator = {},
               SourceLocation at = SourceLocation::here());
Tensor random_(const Tensor& input, int64_t to, const GeneratorOption& generator = {},
               SourceLocation at = SourceLocation::here());
Tensor random_(const Tensor& input, const GeneratorOption& generator = {}, SourceLocation at = SourceLocation::here());

/// The state of the generator that manual_seed() seeds (torch.get_rng_state), and its return to that state.
Tensor get_rng_state(SourceLocation at = SourceLocation::here());
void set_rng_state(const Tensor& state, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
