// var, std, both with the mean, and norms.
#include <cmath>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/reduction/reduce_with.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// The moments of a block in two passes over it while it is in the cache; blocks are joined by Chan's formula in f64.
template <class T>
struct Moments {
  using Element = T;
  static constexpr Dtype element_dtype = dtype_of<T>;
  struct State {
    double count, mean, squares;  // sum of the squared deviations
  };
  struct Deviations {
    double total, squares;
  };
  static Deviations deviations(const float* x, int64_t count, float mean) {
    Floats total[2] = {0.f, 0.f}, squares[2] = {0.f, 0.f};
    const Floats center = mean;
    int64_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes)
      for (int k = 0; k < 2; ++k) {
        const Floats d = load(x + i + k * lanes) - center;
        total[k] = total[k] + d;
        squares[k] = multiply_add(d, d, squares[k]);
      }
    for (; i < count; i += lanes) {
      const int64_t left = count - i;
      const Floats d = (left >= lanes ? load(x + i) : load_some(x + i, left, mean)) - center;
      total[0] = total[0] + d;
      squares[0] = multiply_add(d, d, squares[0]);
    }
    return {sum_of_lanes(total[0] + total[1]), sum_of_lanes(squares[0] + squares[1])};
  }
  static Deviations deviations(const double* x, int64_t count, double mean) {
    double total[8] = {}, squares[8] = {};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
      for (int k = 0; k < 8; ++k) {
        const double d = x[i + k] - mean;
        total[k] += d;
        squares[k] = multiply_add(d, d, squares[k]);
      }
    for (int k = 0; i < count; ++i, ++k) {
      const double d = x[i] - mean;
      total[k] += d;
      squares[k] = multiply_add(d, d, squares[k]);
    }
    for (int half = 4; half > 0; half /= 2)
      for (int k = 0; k < half; ++k) {
        total[k] += total[k + half];
        squares[k] += squares[k + half];
      }
    return {total[0], squares[0]};
  }
  static State block(const T* x, int64_t count, int64_t) {
    const double n = static_cast<double>(count);
    const T mean = RowReducer<Sum<T>>::block(x, count, 0) / static_cast<T>(count);
    // Corrects for the rounding error of the mean.
    const Deviations d = deviations(x, count, mean);
    // Rounding must not make it negative, nor give infinity less infinity.
    const double rest = d.squares - d.total * d.total / n;
    return {n, static_cast<double>(mean) + d.total / n, rest > 0 ? rest : rest <= 0 ? 0 : d.squares};
  }
  static State join(State a, State b) {
    const double n = a.count + b.count, delta = b.mean - a.mean;
    return {n, a.mean + delta * (b.count / n), a.squares + b.squares + delta * delta * (a.count * b.count / n)};
  }
};

/// Writes the variance or, if `root`, the standard deviation, and the mean if there is a tensor for it.
void moments(Arguments arguments, const Tensor& spread, const Tensor* mean, bool root) {
  const ReductionLayout places(arguments[0].tensor(), arguments[1]);
  const double correction = arguments[2].is_none() ? 1 : arguments[2].floating().hint();
  const Dtype dtype = spread.impl()->dtype;
  const Convert convert = find_conversion(Dtype::f64, dtype);
  const int64_t item = size_of(dtype);
  if (places.results == 0) return;
  const auto finish = [&](int64_t i, auto state) {
    const double divisor = state.count - correction;
    const double variance = state.squares / (divisor > 0 ? divisor : 0);
    const double value = root ? std::sqrt(variance) : variance;
    convert(&value, 0, spread.impl()->data() + i * item, 1);
    if (mean) convert(&state.mean, 0, mean->impl()->data() + i * item, 1);
  };
  if (places.count == 0) {
    for (int64_t i = 0; i < places.results; ++i) finish(i, Moments<double>::State{0, NAN, NAN});
    return;
  }
  if (dtype == Dtype::f64) reduce_rows<Moments<double>>(places, finish);
  else reduce_rows<Moments<float>>(places, finish);
}
template <bool root>
void spread(Arguments arguments, std::span<const Tensor> results) {
  moments(arguments, results[0], nullptr, root);
}
template <bool root>
void spread_and_mean(Arguments arguments, std::span<const Tensor> results) {
  moments(arguments, results[0], &results[1], root);
}

/// The sum of the elements' squares; f32 is summed in f32, like any other sum.
template <class T>
struct SumOfSquares {
  using Element = T;
  using State = T;
  static constexpr Dtype element_dtype = dtype_of<T>;
  static T join(T a, T b) { return a + b; }
  static T block(const T* x, int64_t count, int64_t) {
    if constexpr (std::is_same_v<T, float>) {
      Floats total[4] = {0.f, 0.f, 0.f, 0.f};
      int64_t i = 0;
      for (; i + 4 * lanes <= count; i += 4 * lanes)
        for (int k = 0; k < 4; ++k) {
          const Floats value = load(x + i + k * lanes);
          total[k] = multiply_add(value, value, total[k]);
        }
      for (int k = 0; i < count; i += lanes, ++k) {
        const int64_t left = count - i;
        const Floats value = left >= lanes ? load(x + i) : load_some(x + i, left);
        total[k] = multiply_add(value, value, total[k]);
      }
      return sum_of_lanes((total[0] + total[1]) + (total[2] + total[3]));
    } else {
      T squares[reduction_block];
      for (int64_t i = 0; i < count; ++i) squares[i] = x[i] * x[i];
      return RowReducer<Sum<T>>::block(squares, count, 0);
    }
  }
};
/// The size of the only element, whose square may overflow.
template <class T>
struct SizeOfOne : SumOfSquares<T> {
  static T block(const T* x, int64_t count, int64_t) { return count == 0 ? T(0) : std::abs(x[0]); }
};
template <class T>
void euclidean_norm(const ReductionLayout& places, const Tensor& result) {
  const TensorImpl& to = *result.impl();
  const Convert convert = find_conversion(dtype_of<T>, to.dtype);
  const int64_t item = size_of(to.dtype);
  if (places.count == 0) {
    const T zero = 0;
    return convert(&zero, 0, to.data(), places.results);
  }
  if (places.results == 0) return;
  if (places.count == 1)
    return reduce_rows<SizeOfOne<T>>(places, [&](int64_t i, T size) { convert(&size, 0, to.data() + i * item, 1); });
  reduce_rows<SumOfSquares<T>>(places, [&](int64_t i, T total) {
    const T value = std::sqrt(total);
    convert(&value, 0, to.data() + i * item, 1);
  });
}
void vector_norm(Arguments arguments, std::span<const Tensor> results) {
  const ReductionLayout places(arguments[0].tensor(), arguments[2]);
  if (results[0].impl()->dtype == Dtype::f64) euclidean_norm<double>(places, results[0]);
  else euclidean_norm<float>(places, results[0]);
}
bool is_euclidean(Arguments arguments) {
  const Float order = arguments[1].floating();
  return !order.is_symbolic() && order.hint() == 2;
}

constexpr KernelEntry table[] = {
    {&var_symbol, spread<false>},
    {&std_symbol, spread<true>},
    {&var_mean_symbol, spread_and_mean<false>},
    {&std_mean_symbol, spread_and_mean<true>},
    {&vector_norm_symbol, vector_norm, is_euclidean},
};

}  // namespace

KernelTable variance_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
