#include <algorithm>
#include <optional>

#include "executors/eager/kernels/along.h"
#include "ops/symbols.h"
#include "runtime/parallel_for.h"

// Pooling: the windows of each spatial dimension are listed once; planes of spatial dimensions are then independent.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// The elements begin, begin + step, … before `end`, all of them within the input.
struct Window {
  int64_t begin, end, step;
  int64_t padded_length;  // counting padding
  int64_t length() const { return end - begin; }
};

/// The windows of three spatial dimensions; those that there are not have one window over one element.
class Planes {
 public:
  /// Of an input and a result with `count` spatial dimensions.
  Planes(const Sizes& input, const Sizes& result, size_t count) : count_(count), list_(take_sizes(input, result)) {
    for (int axis = 0; axis < static_cast<int>(3 - count); ++axis) first(axis)[0] = {0, 1, 1, 1};
  }

  void lay_out(Arguments a, size_t kernel, bool has_dilation) const {
    for (size_t d = 0; d < count_; ++d) {
      const int axis = static_cast<int>(3 - count_ + d);
      const auto number = [&](size_t i) -> int64_t {
        const auto list = a[i].integers();
        return list[list.size() == 1 ? 0 : d].hint();
      };
      const int64_t size = number(kernel), stride = number(kernel + 1), padding = number(kernel + 2);
      const int64_t dilation = has_dilation ? number(kernel + 3) : 1, input = inputs_[axis];
      for (int64_t o = 0; o < results_[axis]; ++o) {
        int64_t begin = o * stride - padding;
        const int64_t end = begin + (size - 1) * dilation + 1, padded = std::min(begin + size, input + padding) - begin;
        if (begin < 0) begin += (-begin + dilation - 1) / dilation * dilation;
        first(axis)[o] = {begin, std::min(end, input), dilation, padded};
      }
    }
  }
  void divide_evenly() const {
    for (int axis = static_cast<int>(3 - count_); axis < 3; ++axis) {
      const int64_t input = inputs_[axis], result = results_[axis];
      for (int64_t o = 0; o < result; ++o) {
        const int64_t begin = o * input / result, end = ((o + 1) * input + result - 1) / result;
        first(axis)[o] = {begin, end, 1, end - begin};
      }
    }
  }

  Window* first(int axis) const { return list_.data() + (axis > 0 ? results_[0] : 0) + (axis > 1 ? results_[1] : 0); }
  int64_t input(int axis) const { return inputs_[axis]; }
  int64_t result(int axis) const { return results_[axis]; }
  int64_t count() const { return planes_; }
  int64_t input_plane() const { return inputs_[0] * inputs_[1] * inputs_[2]; }
  int64_t result_plane() const { return results_[0] * results_[1] * results_[2]; }

  /// Calls f(plane, window of each axis, number of the result) for each result of the rows begin … end.
  template <class F>
  void visit_rows(int64_t begin, int64_t end, const F& f) const {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t y = row % results_[1], z = row / results_[1] % results_[0],
                    plane = row / (results_[0] * results_[1]);
      for (int64_t x = 0; x < results_[2]; ++x) f(plane, first(0)[z], first(1)[y], first(2)[x], row * results_[2] + x);
    }
  }
  int64_t row_count() const { return planes_ * results_[0] * results_[1]; }
  /// Rows worth a thread of their own.
  int64_t row_grain() const {
    const int64_t results = std::max<int64_t>(1, result_plane());
    const int64_t overlap = std::max<int64_t>(1, input_plane() / results);
    return grain_of(results_[2] * overlap * 4);
  }

 private:
  // How many windows there are to list.
  int64_t take_sizes(const Sizes& input, const Sizes& result) {
    for (size_t d = 0; d < count_; ++d) {
      inputs_[3 - count_ + d] = input[input.size() - count_ + d];
      results_[3 - count_ + d] = result[result.size() - count_ + d];
    }
    for (size_t d = 0; d + count_ < input.size(); ++d) planes_ *= input[d];
    return results_[0] + results_[1] + results_[2];
  }

  size_t count_;
  int64_t inputs_[3] = {1, 1, 1}, results_[3] = {1, 1, 1}, planes_ = 1;
  Scratch<Window> list_;
};

// Largest elements

template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -static_cast<T>(__builtin_inf());
  else return std::is_unsigned_v<T> ? T(0) : static_cast<T>(T(1) << (8 * sizeof(T) - 1));
}

void choose_largest(const Planes& planes, const Tensor& given, std::span<const Tensor> results) {
  const Tensor input = contiguous_elements(given);
  visit_dtype(results[0].impl()->dtype, [&]<class Element>() {
    using T = Compute<Element>;
    const Element* const from = data_of<Element>(input);
    Element* const values = data_of<Element>(results[0]);
    int64_t* const places = data_of<int64_t>(results[1]);
    const int64_t plane_size = planes.input_plane(), height = planes.input(1), width = planes.input(2);
    parallel_for(planes.row_count(), planes.row_grain(), [&](int64_t begin, int64_t end) {
      planes.visit_rows(begin, end,
                        [&](int64_t plane, const Window& z, const Window& y, const Window& x, int64_t result) {
                          const Element* const elements = from + plane * plane_size;
                          T largest = lowest<T>();
                          int64_t place = (z.begin * height + y.begin) * width + x.begin;
                          for (int64_t i = z.begin; i < z.end; i += z.step)
                            for (int64_t j = y.begin; j < y.end; j += y.step) {
                              const int64_t row = (i * height + j) * width;
                              for (int64_t k = x.begin; k < x.end; k += x.step) {
                                const T value = widen(elements[row + k]);
                                if (!(value > largest) && value == value) continue;
                                largest = value;
                                place = row + k;
                              }
                            }
                          values[result] = narrow<Element>(largest);
                          places[result] = std::min(place, plane_size - 1);
                        });
    });
  });
}

void max_pool_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Planes planes(sizes_of(arguments[0].tensor()), sizes_of(results[0]), arguments[1].integers().size());
  planes.lay_out(arguments, 1, true);
  choose_largest(planes, arguments[0].tensor(), results);
}

void adaptive_max_pool_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Planes planes(sizes_of(arguments[0].tensor()), sizes_of(results[0]), arguments[1].integers().size());
  planes.divide_evenly();
  choose_largest(planes, arguments[0].tensor(), results);
}

// Means

/// By what a window's sum is divided.
struct Divisor {
  bool counts_padding = true;
  std::optional<int64_t> given;
  int64_t of(const Window& z, const Window& y, const Window& x) const {
    if (given) return *given;
    if (counts_padding) return z.padded_length * y.padded_length * x.padded_length;
    return z.length() * y.length() * x.length();
  }
};

Divisor divisor_of(const Argument& counts_padding, const Argument& given) {
  Divisor divisor;
  divisor.counts_padding = counts_padding.boolean().hint();
  if (!given.is_none()) divisor.given = given.integer().hint();
  return divisor;
}

bool is_empty(const Window& z, const Window& y, const Window& x) {
  return z.length() <= 0 || y.length() <= 0 || x.length() <= 0;
}

void average(const Planes& planes, const Divisor& divisor, const Tensor& given, const Tensor& result) {
  const Tensor input = contiguous_elements(given);
  visit_dtype(result.impl()->dtype, [&]<class Element>() {
    constexpr bool is_integer = std::is_integral_v<Compute<Element>>;
    using Sum = std::conditional_t<is_integer, uint64_t, double>;
    const Element* const from = data_of<Element>(input);
    Element* const to = data_of<Element>(result);
    const int64_t height = planes.input(1), width = planes.input(2);
    parallel_for(planes.row_count(), planes.row_grain(), [&](int64_t begin, int64_t end) {
      planes.visit_rows(
          begin, end, [&](int64_t plane, const Window& z, const Window& y, const Window& x, int64_t number) {
            const Element* const elements = from + plane * planes.input_plane();
            Sum sum = 0;
            for (int64_t i = z.begin; i < z.end; ++i)
              for (int64_t j = y.begin; j < y.end; ++j) {
                const Element* const row = elements + (i * height + j) * width;
                for (int64_t k = x.begin; k < x.end; ++k) sum += static_cast<Sum>(widen(row[k]));
              }
            if (is_empty(z, y, x)) {
              to[number] = element_of<Element>(0);
              return;
            }
            const int64_t by = divisor.of(z, y, x);
            if constexpr (!is_integer)
              to[number] = narrow<Element>(static_cast<Compute<Element>>(sum / static_cast<double>(by)));
            else
              to[number] = element_of<Element>(by == -1 ? static_cast<int64_t>(-sum) : static_cast<int64_t>(sum) / by);
          });
    });
  });
}

void spread(const Planes& planes, const Divisor& divisor, const Tensor& given, const Tensor& result) {
  const Tensor grad = contiguous_elements(given);
  visit_floating(result.impl()->dtype, [&]<class Element>() {
    using T = Compute<Element>;
    const int64_t size = planes.input_plane(), height = planes.input(1), width = planes.input(2);
    const int64_t rows = planes.result(0) * planes.result(1);
    parallel_for(planes.count(), grain_of(2 * size + 4 * planes.result_plane()), [&](int64_t begin, int64_t end) {
      const Scratch<T> sums(size);
      for (int64_t plane = begin; plane < end; ++plane) {
        std::fill_n(sums.data(), size, T(0));
        planes.visit_rows(plane * rows, (plane + 1) * rows,
                          [&](int64_t, const Window& z, const Window& y, const Window& x, int64_t number) {
                            if (is_empty(z, y, x)) return;
                            const T share = widen(data_of<Element>(grad)[number]) / static_cast<T>(divisor.of(z, y, x));
                            for (int64_t i = z.begin; i < z.end; ++i)
                              for (int64_t j = y.begin; j < y.end; ++j) {
                                T* const row = sums.data() + (i * height + j) * width;
                                for (int64_t k = x.begin; k < x.end; ++k) row[k] += share;
                              }
                          });
        Element* const to = data_of<Element>(result) + plane * size;
        for (int64_t i = 0; i < size; ++i) to[i] = narrow<Element>(sums[i]);
      }
    });
  });
}

void avg_pool_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Planes planes(sizes_of(arguments[0].tensor()), sizes_of(results[0]), arguments[1].integers().size());
  planes.lay_out(arguments, 1, false);
  average(planes, divisor_of(arguments[5], arguments[6]), arguments[0].tensor(), results[0]);
}

void avg_pool_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Planes planes(sizes_of(results[0]), sizes_of(arguments[0].tensor()), arguments[1].integers().size());
  planes.lay_out(arguments, 2, false);
  spread(planes, divisor_of(arguments[6], arguments[7]), arguments[0].tensor(), results[0]);
}

void adaptive_avg_pool_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Planes planes(sizes_of(arguments[0].tensor()), sizes_of(results[0]), arguments[1].integers().size());
  planes.divide_evenly();
  average(planes, {}, arguments[0].tensor(), results[0]);
}

void adaptive_avg_pool_backward_kernel(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const Planes planes(sizes_of(results[0]), sizes_of(arguments[0].tensor()), arguments[1].integers().size());
  planes.divide_evenly();
  spread(planes, {}, arguments[0].tensor(), results[0]);
}

}  // namespace

KernelTable pooling_kernels() {
  static constexpr KernelEntry table[] = {
      {&prims_max_pool_symbol, max_pool_kernel},
      {&prims_adaptive_max_pool_symbol, adaptive_max_pool_kernel},
      {&prims_avg_pool_symbol, avg_pool_kernel},
      {&prims_avg_pool_backward_symbol, avg_pool_backward_kernel},
      {&prims_adaptive_avg_pool_symbol, adaptive_avg_pool_kernel},
      {&prims_adaptive_avg_pool_backward_symbol, adaptive_avg_pool_backward_kernel},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
