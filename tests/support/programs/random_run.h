#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "support/programs/random_program.h"

namespace fulgurite::test::detail {

inline constexpr int64_t max_elements = 120;
inline constexpr int64_t shift_count = 512;
enum InputPosition { first_input, second_input, third_input, mask_input, index_input, shift_input };

inline int64_t elements(const Tensor& x) { return x.numel(); }
inline int64_t size(const Tensor& x, int64_t dim) { return x.size(static_cast<int>(dim)); }

inline std::vector<double> numbers_of(const Tensor& x) {
  return x.detach().to(Dtype::f64).contiguous().to_vector<double>();
}

/// The smallest difference between the largest element and the next one along a dimension.
inline double smallest_lead(const Tensor& x, int64_t dim) {
  std::vector<double> numbers = numbers_of(x.detach().transpose(dim, -1));
  const auto row = static_cast<size_t>(size(x, dim));
  double smallest = 1;
  for (size_t start = 0; row > 1 && start < numbers.size(); start += row) {
    std::partial_sort(&numbers[start], &numbers[start] + 2, &numbers[start] + row, std::greater<>());
    smallest = std::min(smallest, numbers[start] - numbers[start + 1]);
  }
  return smallest;
}

/// One call of a program.
class RandomRun {
 public:
  RandomRun(unsigned seed, const RandomProgram::Options& options, const std::vector<Tensor>& inputs, double* to_kink)
      : random_(seed), options_(options), given_(inputs), to_kink_(to_kink) {
    values_ = {inputs[first_input], inputs[second_input], inputs[third_input]};
    if (inputs.size() > shift_input + 1) values_.push_back(inputs.back());
  }

  std::vector<Tensor> program() {
    const size_t inputs = values_.size();
    for (int i = 0; i < options_.operators; ++i) draw_operator();
    // Some of the values, the last always; the others are dead unless those depend on them.
    std::vector<Tensor> results{values_.back()};
    for (size_t i = inputs; i + 1 < values_.size(); ++i)
      if (below(6) == 0) results.push_back(values_[i]);
    if (below(8) == 0) results.push_back(values_[first_input]);
    if (below(8) == 0) results.push_back(results.front());
    results.insert(results.end(), exact_.begin(), exact_.end());
    return results;
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<unsigned>(n)); }
  // Mostly of the last values, so that programs are deep.
  Tensor draw_value() {
    const auto count = static_cast<int64_t>(values_.size());
    const int64_t from_end = below(2) == 0 ? below(std::min<int64_t>(count, 3)) : below(count);
    return values_[static_cast<size_t>(count - 1 - from_end)];
  }

  // Notes how near an eager run comes to a kink.
  void note(double distance) {
    if (to_kink_) *to_kink_ = std::min(*to_kink_, distance);
  }
  Tensor off_zero(const Tensor& x) {
    if (to_kink_)
      for (const double number : numbers_of(x)) note(std::fabs(number));
    return x;
  }
  /// x plus numbers of no pattern.
  Tensor shifted(const Tensor& x) {
    const int64_t start = below(shift_count - std::min(shift_count - 1, elements(x)));
    const Tensor shifts = narrow(given_[shift_input], 0, start, elements(x));
    return x + reshape(shifts, x.shape());
  }
  Tensor shifted_for_lead(const Tensor& x, int64_t dim) {
    Tensor y = shifted(x);
    if (to_kink_) note(smallest_lead(y, dim));
    return y;
  }

  void draw_operator() {
    const Tensor x = draw_value();
    switch (below(11)) {
      case 0: return values_.push_back(unary(x));
      case 1: return values_.push_back(bent(x));
      case 2: return values_.push_back(binary(x, draw_value()));
      case 3: return values_.push_back(reduction(x));
      case 4:
      case 5: return values_.push_back(view(x));
      case 6: return values_.push_back(product(x, draw_value()));
      case 7: return several(x);
      case 8: return values_.push_back(indexed(x));
      case 9: return below(2) == 0 ? drawn(x) : checkpointed(x);
      default: return values_.push_back(other(x, draw_value()));
    }
  }

  // Slopes are bounded, so that numbers stay small.
  Tensor unary(const Tensor& x) {
    switch (below(19)) {
      case 0: return sin(x);
      case 1: return tanh(x);
      case 2: return sigmoid(x);
      case 3: return -x;
      case 4: return nn::gelu(x, "tanh");
      case 5: return gelu(x);
      case 6: return silu(x);
      case 7: return exp(tanh(x));
      case 8: return rsqrt(square(x) + 1);
      case 9: return log(square(x) + 0.5);
      case 10: return sqrt(square(x) + 0.3);
      case 11: return cos(x);
      case 12: return erf(x);
      case 13: return atan(x);
      case 14: return pow(tanh(x), 3);
      case 15: return reciprocal(square(x) + 1);
      case 16: return pow(square(x) + 0.5, 0.7);
      case 17: return log1p(square(x));
      default: return x * 0.5 + 1;
    }
  }

  Tensor bent(const Tensor& x) {
    const Tensor y = off_zero(shifted(x));
    switch (below(6)) {
      case 0: return nn::relu(y);
      case 1: return abs(y);
      case 2:
        off_zero(y - 0.75);
        off_zero(y + 0.5);
        return clamp(y, -0.5, 0.75);
      case 3: return where(y > 0, y, x * 0.25);
      case 4: return linalg::vector_norm(y, 3) * 0.1 + y;
      default: return clamp_min(y, 0);
    }
  }

  static bool can_broadcast(const Tensor& x, const Tensor& y) {
    const int64_t common = std::min(x.ndim(), y.ndim());
    int64_t count = 1;
    for (int64_t i = 1; i <= common; ++i) {
      const int64_t a = size(x, -i), b = size(y, -i);
      if (a != b && a != 1 && b != 1) return false;
      count *= std::max(a, b);
    }
    for (const Tensor& longer : {x, y})
      for (int64_t i = common + 1; i <= longer.ndim(); ++i) count *= size(longer, -i);
    return count <= max_elements;
  }

  Tensor binary(const Tensor& x, const Tensor& y) {
    if (!can_broadcast(x, y)) return unary(x);
    switch (below(12)) {
      case 0: return x + y;
      case 1: return x - y;
      case 2: return x * tanh(y);
      case 3: return x / (square(y) + 1);
      case 4:
      case 5:
      case 6: {
        const Tensor apart = shifted(x);
        off_zero(apart - y);
        const int64_t which = below(3);
        if (which == 0) return maximum(apart, y);
        return which == 1 ? minimum(apart, y) : where(apart < y, x, y * 0.5);
      }
      case 7: return atan2(x, square(y) + 0.5);
      case 8: return addcmul(x, tanh(y), x, 0.5);
      case 9: return addcdiv(x, y, square(y) + 1, -0.5);
      case 10: return lerp(x, y, sigmoid(y));
      default: return lerp(x, x + y, 0.25);
    }
  }

  Tensor reduction(const Tensor& x) {
    if (x.ndim() == 0) return unary(x);
    const int64_t dim = below(x.ndim());
    const bool keepdim = below(2) == 0;
    switch (below(12)) {
      case 0: return sum(x, dim, keepdim) * 0.5;
      case 1: return mean(x, dim, keepdim);
      case 2: return amax(shifted_for_lead(x, dim), dim, keepdim);
      case 3: return amin(-shifted_for_lead(x, dim), dim, keepdim);
      case 4: return logsumexp(x, dim, keepdim);
      case 5: return softmax(x, dim);
      case 6: return log_softmax(x, dim) * 0.25;
      case 7: return var(x, dim, 0, keepdim);
      case 8: return size(x, dim) > 1 ? fulgurite::std(shifted_for_lead(x, dim), dim, 1, keepdim) : unary(x);
      case 9: return prod(tanh(x) + 1.5, dim, keepdim) * 0.1;
      case 10: return linalg::vector_norm(off_zero(shifted(x)), 2, dim, keepdim);
      default: return mean(x) + x;
    }
  }

  Tensor view(const Tensor& x) {
    if (x.ndim() == 0) return reshape(x, {1});
    const int64_t dim = below(x.ndim());
    switch (below(11)) {
      case 0: return reshape(x, {-1});
      case 1: return transpose(x, dim, below(x.ndim()));
      case 2: return x.ndim() < 4 ? unsqueeze(x, dim) : flatten(x);
      case 3: return squeeze(x);
      case 4: return narrow(x, dim, size(x, dim) / 2, size(x, dim) - size(x, dim) / 2);
      case 5: return select(x, dim, below(size(x, dim)));
      case 6: {
        if (x.ndim() > 3 || elements(x) * 2 > max_elements) return flatten(x);
        Dims sizes = Dims(x.shape());
        sizes.insert(0, 2);
        return expand(x, sizes);
      }
      case 7: return flip(x, dim);
      case 8: return movedim(x, dim, -1);
      case 9: return prims::slice(x, dim, 0, {}, 2);
      default: return x(Slice(), Ellipsis);
    }
  }

  Tensor product(const Tensor& x, const Tensor& y) {
    if (x.ndim() < 1 || y.ndim() < 1) return unary(x);
    const Tensor right = y.ndim() > 1 && below(2) == 0 ? transpose(y, -1, -2) : y;
    const bool is_small = elements(x) * elements(right) <= 40 * max_elements;
    const bool fits = x.ndim() <= 2 && right.ndim() <= 2 && size(x, -1) == size(right, right.ndim() > 1 ? -2 : -1);
    if (fits && is_small && size(x, 0) * size(right, -1) <= max_elements) return matmul(x, right) * 0.25;
    if (x.ndim() == 2 && y.ndim() == 2 && size(x, 1) == size(y, 1)) return nn::linear(x, y) * 0.25;
    if (x.ndim() == 1 && y.ndim() == 1 && elements(x) * elements(y) <= max_elements) return outer(x, tanh(y));
    if (x.ndim() >= 2 && elements(x) * size(x, -2) <= max_elements * 4 &&
        elements(x) / std::max<int64_t>(size(x, -1), 1) * size(x, -2) <= max_elements)
      return matmul(x, transpose(x, -1, -2)) * 0.25;
    return binary(x, right);
  }

  // Several results, of which some go on.
  void several(const Tensor& x) {
    if (x.ndim() == 0) return values_.push_back(unary(x));
    const int64_t dim = below(x.ndim());
    const bool keepdim = below(2) == 0;
    std::vector<Tensor> results;
    switch (below(7)) {
      case 0: {
        const auto [variance, average] = var_mean(x, dim, 0, keepdim);
        results = {variance, average};
        break;
      }
      case 1: {
        if (size(x, dim) < 2) return values_.push_back(unary(x));
        const auto [deviation, average] = std_mean(shifted_for_lead(x, dim), dim, 1, keepdim);
        results = {deviation, average};
        break;
      }
      case 2:
      case 3: {
        const Tensor apart = shifted_for_lead(x, dim);
        const auto [extremes, places] =
            below(2) == 0 ? fulgurite::max(apart, dim, keepdim) : fulgurite::min(-apart, dim, keepdim);
        if (below(3) == 0 && depth_ == 0) exact_.push_back(places);
        results = {extremes};
        break;
      }
      case 4: results = chunk(x, 2, dim); break;
      case 5: results = split(x, Dims(2), dim); break;
      default: results = unbind(x, dim);
    }
    const int64_t kept = below(static_cast<int64_t>(results.size()));
    for (size_t i = 0; i < results.size(); ++i)
      if (static_cast<int64_t>(i) == kept || below(3) == 0) values_.push_back(results[i]);
  }

  /// The index input, brought below `limit`.
  Tensor indexes(int64_t limit) { return remainder(given_[index_input], limit); }

  Tensor indexed(const Tensor& x) {
    const Tensor& mask = given_[mask_input];
    if (x.ndim() == 0) return unary(x);
    const int64_t dim = below(x.ndim());
    const int64_t rest = elements(x) / std::max<int64_t>(size(x, dim), 1);
    const bool fits = rest * elements(given_[index_input]) <= max_elements;
    switch (below(6)) {
      case 0: return fits ? index_select(x, dim, indexes(size(x, dim))) : unary(x);
      case 1: return fits && x.ndim() == 2 ? nn::embedding(indexes(size(x, 0)), tanh(x)) : x * given_[index_input](0);
      case 2: return can_broadcast(x, mask) ? where(mask, x, 0.5) : unary(x);
      case 3: return can_broadcast(x, mask) ? x * mask : unary(x);
      case 4: {
        if (x.ndim() != 2) return masked_fill(x, given_[index_input](1) > 2, -0.5);
        const Tensor columns = remainder(reshape(narrow(given_[index_input], 0, 0, 1), {1, 1}), size(x, 1));
        return gather(x, 1, expand(columns, {size(x, 0), 1}));
      }
      default: {
        if (x.ndim() != 2 || size(x, 0) > elements(given_[index_input])) return x + given_[index_input](1);
        const Tensor classes = remainder(narrow(given_[index_input], 0, 0, size(x, 0)), size(x, 1));
        return nn::cross_entropy(x, classes) + x;
      }
    }
  }

  // Numbers from the generator. Masks and evenly distributed numbers come out bit for bit alike everywhere.
  void drawn(const Tensor& x) {
    if (!options_.has_draws) return values_.push_back(unary(x));
    const TensorOptions options{.dtype = options_.dtype};
    const bool is_returned = below(2) == 0 && depth_ == 0;
    switch (below(5)) {
      case 0: {
        const double p = below(2) == 0 ? 0.5 : 0.2;
        const Tensor y = nn::dropout(off_zero(shifted(x)), p);
        if (is_returned) exact_.push_back(y != 0);
        return values_.push_back(y);
      }
      case 1: {
        const Tensor mask = rand(Dims(x.shape()), options) < 0.6;
        if (is_returned) exact_.push_back(mask);
        return values_.push_back(where(mask, x, x * 0.5));
      }
      case 2: {
        const Tensor numbers = rand_like(x, options);
        if (is_returned) exact_.push_back(prims::convert_element_type(numbers * 0x1p24, Dtype::i64));  // all its bits
        return values_.push_back(x * numbers);
      }
      case 3: return values_.push_back(x + randn(Dims(x.shape()), options) * 0.1);
      default: {
        const Tensor numbers = randint(-3, 4, Dims(x.shape()));
        if (is_returned) exact_.push_back(numbers);
        return values_.push_back(x * numbers * 0.5);
      }
    }
  }

  void checkpointed(const Tensor& x) {
    if (depth_ == 2) return values_.push_back(unary(x));
    const auto seed = static_cast<unsigned>(random_());
    const auto operators = static_cast<int>(1 + below(4));
    const Tensor y = draw_value();
    RandomRun inside(seed, options_, given_, to_kink_);
    inside.depth_ = depth_ + 1;
    const auto region = [inside, operators](Tensor a, Tensor b) {
      RandomRun run = inside;  // each time anew: eager mode runs the region again in the backward
      run.values_ = {a, b};
      for (int i = 0; i < operators; ++i) run.draw_operator();
      return std::vector<Tensor>{run.values_.back(), run.values_[run.values_.size() - 2]};
    };
    const std::vector<Tensor> results = checkpoint(region)(x, y);
    values_.push_back(results[0]);
    if (below(2) == 0) values_.push_back(results[1]);
  }

  Tensor other(const Tensor& x, const Tensor& y) {
    if (x.ndim() == 0) return unary(x);
    const int64_t dim = below(x.ndim());
    switch (below(9)) {
      case 0: return elements(x) * 2 <= max_elements ? cat({x, sin(x)}, dim) : unary(x);
      case 1: return x.ndim() < 4 && elements(x) * 2 <= max_elements ? stack({x, x}, dim) : unary(x);
      case 2: return cumsum(x, dim) * 0.25;
      case 3: return x.detach() + x;
      case 4: return sin(x) + sin(x);  // for the pass that computes it once
      case 5: return nn::layer_norm(x, {x.size(-1)}, {}, {}, 0.1);
      case 6: return nn::rms_norm(x, {x.size(-1)}, {}, 0.1);
      case 7: return x.ndim() == 2 ? tril(x) : nn::pad(x, {1, 0}, "constant", 0.5);
      default: return nn::mse_loss(x, x * 0.5) + binary(x, y);
    }
  }

  std::mt19937 random_;
  RandomProgram::Options options_;
  std::vector<Tensor> given_;
  std::vector<Tensor> values_, exact_;  // exact_: results that are integers or booleans
  double* to_kink_;
  int depth_ = 0;
};

}  // namespace fulgurite::test::detail
