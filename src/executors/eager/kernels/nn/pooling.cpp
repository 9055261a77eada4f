#include <optional>

#include "executors/eager/kernels/common/wide.h"
#include "executors/eager/kernels/nn/pooling_windows.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

// Maxima and means of windows. Adjacent results with equally spaced windows are computed together, the elements of
// their windows in turn; those at the edges one by one.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

// Maxima

template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -static_cast<T>(__builtin_inf());
  else return std::is_unsigned_v<T> ? T(0) : static_cast<T>(T(1) << (8 * sizeof(T) - 1));
}

constexpr int64_t together = 256;  // results of a row

/// Calls f(integral constant of the stride), which is a compile-time constant if it is 1 or 2.
template <class F>
void with_stride(int64_t stride, const F& f) {
  if (stride == 1) f(std::integral_constant<int64_t, 1>());
  else if (stride == 2) f(std::integral_constant<int64_t, 2>());
  else f(stride);
}

/// Loads sixteen numbers from `from` on, `stride` (1 or 2) apart.
template <int64_t stride>
FULGURITE_INLINE Floats load_apart(const float* from) {
  if constexpr (stride == 1) return load(from);
  const Floats low = load(from), high = load(from + lanes);
  const auto part = [&](int p) -> const FloatPart& { return p < parts ? low.part[p] : high.part[p - parts]; };
  Floats result;
#if defined(__AVX512F__)
  result.part[0] = __builtin_shufflevector(part(0), part(1), 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(__AVX__)
  FULGURITE_EACH_PART(result.part[p] = __builtin_shufflevector(part(2 * p), part(2 * p + 1), 0, 2, 4, 6, 8, 10, 12, 14))
#else
  FULGURITE_EACH_PART(result.part[p] = __builtin_shufflevector(part(2 * p), part(2 * p + 1), 0, 2, 4, 6))
#endif
  return result;
}

#if defined(__AVX512F__)
typedef int HalfInts __attribute__((vector_size(32)));
typedef long long LongPart __attribute__((vector_size(64)));
/// Widens and stores the first `count` lanes.
FULGURITE_INLINE void store_widened(int64_t* to, const Ints& value, int64_t count) {
  const unsigned mask = (1u << count) - 1;
  const IntPart& all = value.part[0];
  const HalfInts first = __builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7),
                 second = __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15);
  auto* const places = reinterpret_cast<long long*>(to);
  __builtin_ia32_storedqudi512_mask(places, __builtin_convertvector(first, LongPart), static_cast<uint8_t>(mask));
  __builtin_ia32_storedqudi512_mask(places + 8, __builtin_convertvector(second, LongPart),
                                    static_cast<uint8_t>(mask >> 8));
}
#else
FULGURITE_INLINE void store_widened(int64_t* to, const Ints& value, int64_t count) {
  int numbers[lanes];
  store(numbers, value);
  std::copy_n(numbers, count, to);
}
#endif

/// The largest elements of windows and, with `has_places`, their indices.
template <class Element, bool has_places>
class LargestOfWindows {
  using T = Compute<Element>;

 public:
  LargestOfWindows(const Planes& planes, const Tensor& input, std::span<const Tensor> results)
      : planes_(planes),
        from_(data_of<Element>(input)),
        end_(from_ + input.impl()->numel()),
        values_(data_of<Element>(results[0])),
        places_(has_places ? data_of<int64_t>(results[1]) : nullptr),
        plane_size_(planes.input_plane()),
        height_(planes.input(1)),
        width_(planes.input(2)),
        run_(planes.longest_run()) {
    // Indices are 32 bits wide there.
    if (run_.end - run_.begin < 4 || plane_size_ >= int64_t{1} << 31) run_ = {};
  }

  void compute(int64_t begin, int64_t end) const {
    planes_.visit_lines(begin, end, [&](int64_t plane, const Window& z, const Window& y, int64_t number) {
      const Element* const elements = from_ + plane * plane_size_;
      for (int64_t x = 0; x < planes_.result(2); ++x) {
        if (x == run_.begin && run_.end > x && z.length() > 0 && y.length() > 0) {
          const int64_t step = has_lanes() ? lanes : together;
          for (; x < run_.end; x += step)
            with_stride(run_.stride, [&](auto stride) { side_by_side(elements, z, y, x, number, stride); });
          x = run_.end - 1;
        } else {
          one(elements, z, y, planes_.first(2)[x], number + x);
        }
      }
    });
  }

 private:
  void one(const Element* elements, const Window& z, const Window& y, const Window& x, int64_t result) const {
    T largest = lowest<T>();
    int64_t place = (z.begin * height_ + y.begin) * width_ + x.begin;
    for (int64_t i = z.begin; i < z.end; i += z.step)
      for (int64_t j = y.begin; j < y.end; j += y.step) {
        const int64_t row = (i * height_ + j) * width_;
        for (int64_t k = x.begin; k < x.end; k += x.step) {
          const T value = widen(elements[row + k]);
          if (!(value > largest) && value == value) continue;
          largest = value;
          place = row + k;
        }
      }
    values_[result] = narrow<Element>(largest);
    if constexpr (has_places) places_[result] = std::min(place, plane_size_ - 1);
  }
  bool has_lanes() const { return std::is_same_v<Element, float> && run_.stride <= 2; }
  template <class Stride>
  void side_by_side(const Element* elements, const Window& z, const Window& y, int64_t x, int64_t number,
                    Stride stride) const {
    if constexpr (std::is_same_v<Element, float> && !std::is_same_v<Stride, int64_t>)
      in_lanes<Stride::value>(elements, z, y, x, number);
    else in_arrays(elements, z, y, x, number, stride);
  }

  /// Computes up to as many results as there are lanes; lanes past the last one are not stored.
  template <int64_t stride>
  void in_lanes(const float* elements, const Window& z, const Window& y, int64_t x, int64_t number) const {
    static constexpr int numbers[lanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int64_t count = std::min<int64_t>(lanes, run_.end - x);
    const Window& window = planes_.first(2)[x];
    Ints steps = load(numbers);
    if constexpr (stride == 2) steps = steps + steps;
    Floats largest(lowest<float>());
    Ints place(static_cast<int>((z.begin * height_ + y.begin) * width_ + window.begin));  // in the first lane's window
    for (int64_t i = z.begin; i < z.end; i += z.step)
      for (int64_t j = y.begin; j < y.end; j += y.step)
        for (int64_t k = 0; k < run_.elements; ++k) {
          const int64_t offset = (i * height_ + j) * width_ + window.begin + k * window.step;
          const Floats value = load_within<stride>(elements + offset, count);
          if constexpr (!has_places) {
            largest = maximum(value, largest);  // of equal ones the first
            continue;
          }
          // One after the other: the compiler would join the two masks in vectors of lanes.
          for (const Ints& is_taken : {largest < value, value != value}) {
            largest = select(is_taken, value, largest);
            place = select(is_taken, Ints(static_cast<int>(offset)), place);
          }
        }
    store_up_to(values_ + number + x, largest, count);
    if constexpr (has_places) store_widened(places_ + number + x, place + steps, count);
  }
  /// Loads sixteen numbers `stride` apart, of which `count` are in the input.
  template <int64_t stride>
  Floats load_within(const float* from, int64_t count) const {
    if (end_ - from >= stride * lanes) return load_apart<stride>(from);
    float copied[stride * lanes] = {};
    std::copy_n(from, (count - 1) * stride + 1, copied);
    return load_apart<stride>(copied);
  }

  template <class Stride>
  void in_arrays(const Element* elements, const Window& z, const Window& y, int64_t x, int64_t number,
                 Stride stride) const {
    T largest[together];
    int32_t place[together];
    const int64_t count = std::min(together, run_.end - x);
    const Window& window = planes_.first(2)[x];
    const auto first = static_cast<int32_t>((z.begin * height_ + y.begin) * width_ + window.begin);
    for (int64_t o = 0; o < count; ++o) {
      largest[o] = lowest<T>();
      place[o] = first + static_cast<int32_t>(o * stride);
    }
    for (int64_t i = z.begin; i < z.end; i += z.step)
      for (int64_t j = y.begin; j < y.end; j += y.step)
        for (int64_t k = 0; k < run_.elements; ++k) {
          const int64_t offset = (i * height_ + j) * width_ + window.begin + k * window.step;
          const Element* const from = elements + offset;
          for (int64_t o = 0; o < count; ++o) {
            const T value = widen(from[o * stride]);
            const bool is_taken = (value > largest[o]) | (value != value);
            largest[o] = is_taken ? value : largest[o];
            place[o] = is_taken ? static_cast<int32_t>(offset + o * stride) : place[o];
          }
        }
    for (int64_t o = 0; o < count; ++o) {
      values_[number + x + o] = narrow<Element>(largest[o]);
      if constexpr (has_places) places_[number + x + o] = place[o];
    }
  }

  const Planes& planes_;
  const Element *from_, *end_;
  Element* values_;
  int64_t* places_;
  int64_t plane_size_, height_, width_;
  Planes::Run run_;
};

void choose_largest(const Planes& planes, const Tensor& given, std::span<const Tensor> results) {
  const Tensor input = contiguous_elements(given);
  visit_dtype(results[0].impl()->dtype, [&]<class Element>() {
    const auto compute = [&]<bool has_places>(std::bool_constant<has_places>) {
      const LargestOfWindows<Element, has_places> windows(planes, input, results);
      parallel_for(planes.row_count(), planes.row_grain(),
                   [&](int64_t begin, int64_t end) { windows.compute(begin, end); });
    };
    if (results[1].defined()) compute(std::true_type());
    else compute(std::false_type());
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

/// The divisor of a window's sum.
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
    parallel_ranges(planes.count(), grain_of(2 * size + 4 * planes.result_plane()), [&](Ranges& ranges) {
      const Scratch<T> sums(size);
      for (int64_t begin, end; ranges.next(begin, end);)
        for (int64_t plane = begin; plane < end; ++plane) {
          std::fill_n(sums.data(), size, T(0));
          planes.visit_rows(plane * rows, (plane + 1) * rows,
                            [&](int64_t, const Window& z, const Window& y, const Window& x, int64_t number) {
                              if (is_empty(z, y, x)) return;
                              const T share =
                                  widen(data_of<Element>(grad)[number]) / static_cast<T>(divisor.of(z, y, x));
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
      {.symbol = &prims_max_pool_symbol, .kernel = max_pool_kernel, .skips_unread_results = true},
      {.symbol = &prims_adaptive_max_pool_symbol, .kernel = adaptive_max_pool_kernel, .skips_unread_results = true},
      {&prims_avg_pool_symbol, avg_pool_kernel},
      {&prims_avg_pool_backward_symbol, avg_pool_backward_kernel},
      {&prims_adaptive_avg_pool_symbol, adaptive_avg_pool_kernel},
      {&prims_adaptive_avg_pool_backward_symbol, adaptive_avg_pool_backward_kernel},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
