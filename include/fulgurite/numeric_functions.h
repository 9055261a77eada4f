#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <fulgurite/operators.h>
#include <fulgurite/random.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Functions of numbers, composed of operators, with the names and arguments of
// PyTorch's; beside compositions.h.

/// The greatest common divisors and the least common multiples of integers,
/// which broadcast; not negative, but for an overflow. Throw UserError for
/// other dtypes. (torch.gcd, torch.lcm)
Tensor gcd(const Tensor& input, const Tensor& other, SourceLocation at = SourceLocation::here());
Tensor lcm(const Tensor& input, const Tensor& other, SourceLocation at = SourceLocation::here());
/// Mantissas m of magnitude 1/2 to below 1 and i32 exponents e with m 2^e =
/// input; 0 and what is not finite keep their value, with the exponent 0.
/// Throws UserError for integers. (torch.frexp)
std::tuple<Tensor, Tensor> frexp(const Tensor& input, SourceLocation at = SourceLocation::here());
/// The most frequent value along a dimension, the smallest of several, and the
/// index where it stands last. (torch.mode)
std::tuple<Tensor, Tensor> mode(const Tensor& input, int64_t dim = -1, bool keepdim = false,
                                SourceLocation at = SourceLocation::here());
/// The input with other elements at the indices of the flattened tensor; with
/// `accumulate` they are added. (torch.put)
Tensor put(const Tensor& input, const Tensor& index, const Tensor& source, bool accumulate = false,
           SourceLocation at = SourceLocation::here());

/// Options of histogram; members are given in this order.
struct HistogramOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  std::pair<double, double> range = {0, 0};  // equal ends: from the smallest to the largest element
  Tensor weight = {};                        // of the input's shape
  bool density = false;                      // divided by the sum and the widths: the integral is 1
};
/// Counts of elements, or sums of their weights, in `bins` equal intervals, and
/// the intervals' ends, [bins + 1]; the last interval includes its end,
/// elements outside do not count. Throws UserError unless input is floating.
/// (torch.histogram)
std::tuple<Tensor, Tensor> histogram(const Tensor& input, int64_t bins, const HistogramOptions& options = {},
                                     SourceLocation at = SourceLocation::here());
/// The same in intervals between ascending ends.
std::tuple<Tensor, Tensor> histogram(const Tensor& input, const Tensor& bins, const HistogramOptions& options = {},
                                     SourceLocation at = SourceLocation::here());

/// Central differences along each of the dimensions (all, if none is given) of
/// values at the distances `spacing`, one number for all dimensions or one for
/// each; at the ends differences of first or second order. Throws UserError for
/// too few values. (torch.gradient)
std::vector<Tensor> gradient(const Tensor& input, const std::vector<double>& spacing = {1}, const Dims& dim = {},
                             int64_t edge_order = 1, SourceLocation at = SourceLocation::here());

/// Numbers of Poisson's distribution with the rates that `input` holds. The
/// number of draws depends on the largest rate: causes a graph break while
/// tracing. Throws UserError for a negative rate. (torch.poisson)
Tensor poisson(const Tensor& input, const GeneratorOption& generator = {}, SourceLocation at = SourceLocation::here());

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
