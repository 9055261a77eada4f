#pragma once
#include <algorithm>
#include <cstring>

#include "executors/eager/kernels/linalg/pack.h"
#include "executors/eager/kernels/nn/convolution_plan.h"

// Planes of a depthwise convolution in memory: widened, with their padding, columns sorted by their remainder modulo
// the stride, so that neighbouring results read neighbouring elements.
namespace fulgurite::FULGURITE_KERNELS {

/// The strides of a tensor of samples, channels and one or two spatial dimensions.
struct PlaneLayout {
  int64_t sample, channel, row = 0, column;
  explicit PlaneLayout(const Tensor& t)
      : sample(strides_of(t)[0]), channel(strides_of(t)[1]), column(strides_of(t).back()) {
    if (strides_of(t).size() == 4) row = strides_of(t)[2];
  }
};

template <class T, int64_t count>
FULGURITE_INLINE void copy_tail(const T* from, T* to, int64_t rest) {
  if constexpr (count > 0) {
    if (rest & count) {
      std::memcpy(to, from, count * sizeof(T));
      from += count;
      to += count;
    }
    copy_tail<T, count / 2>(from, to, rest);
  }
}
/// Copies a short row: the compiler's own copy takes longer to start than a row of some vectors takes.
template <class T>
FULGURITE_INLINE void copy_row(const T* from, T* to, int64_t count) {
  constexpr int64_t step = wide_lanes<T>;
  if (count < step) return copy_tail<T, step / 2>(from, to, count);
  for (int64_t i = 0; i + step <= count; i += step) store_wide(to + i, load_wide(from + i));
  if (count % step != 0) store_wide(to + count - step, load_wide(from + count - step));
}
template <class Element>
FULGURITE_INLINE void widen_run(const Element* from, int64_t stride, int64_t count, Compute<Element>* to) {
  if constexpr (std::is_same_v<Element, Compute<Element>>) {
    if (stride == 1) return copy_row(from, to, count);
  }
  widen_row(from, stride, count, to, count);
}

/// The parts of one dimension: several only if a transposed convolution has a stride.
struct AxisParts {
  const Axis& axis;
  bool is_transposed;

  int64_t count() const { return axis.part_count(is_transposed); }
  AxisPart operator[](int64_t number) const { return axis.part(is_transposed, number); }
  int64_t step() const { return is_transposed ? 1 : axis.stride; }
  /// The largest number of results of a part.
  int64_t results() const { return (*this)[0].count; }
};

/// The positions of one dimension that results read: those from `low` to `high`.
struct ReadRange {
  int64_t low = 0, high = -1;
  explicit ReadRange(const AxisParts& parts) {
    for (int64_t number = 0; number < parts.count(); ++number) {
      const AxisPart part = parts[number];
      if (part.taps == 0) continue;
      const int64_t reach = (part.taps - 1) * part.offset_step;
      const int64_t first = part.offset + std::min<int64_t>(0, reach);
      const int64_t last = (parts.results() - 1) * part.step + part.offset + std::max<int64_t>(0, reach);
      low = high < low ? first : std::min(low, first);
      high = std::max(high, last);
    }
  }
  int64_t count() const { return high - low + 1; }
};

/// One padded plane. Memory past the last column and row is zero, for `spare_rows` more rows of results and whole
/// vectors of columns.
template <class T>
class PaddedPlane {
 public:
  PaddedPlane(const AxisParts& y, const AxisParts& x, int64_t vectors, int64_t spare_rows)
      : y_step_(y.step()),
        x_step_(x.step()),
        y_range_(y),
        x_range_(x),
        input_rows_(y.axis.input),
        input_columns_(x.axis.input) {
    const int64_t width = wide_lanes<T> * vectors;
    whole_ = (x.results() + width - 1) / width * width;
    const int64_t reach = std::max<int64_t>(0, x_range_.count() - 1 - (x.results() - 1) * x_step_);
    phase_ = whole_ + reach / x_step_ + 1;
    row_ = phase_ * x_step_;
    size_ = row_ * (std::max<int64_t>(1, y_range_.count()) + spare_rows * y_step_);
  }

  /// The number of columns of results, rounded up to whole vectors.
  int64_t whole_columns() const { return whole_; }
  int64_t size() const { return size_; }
  /// Elements between the rows that neighbouring rows of results read.
  int64_t result_row() const { return row_ * y_step_; }
  /// The offset of the element that result (0, 0) multiplies by a tap.
  int64_t tap_offset(const AxisPart& y, int64_t tap_y, const AxisPart& x, int64_t tap_x) const {
    const int64_t row = y.offset + tap_y * y.offset_step - y_range_.low;
    const int64_t column = x.offset + tap_x * x.offset_step - x_range_.low;
    return row * row_ + column % x_step_ * phase_ + column / x_step_;
  }

  /// Copies a plane's elements that are read; everything else in `to` must be zero already.
  template <class Element>
  void fill(const Element* plane, int64_t row_stride, int64_t column_stride, T* to) const {
    const int64_t first_row = std::max<int64_t>(0, y_range_.low), last_row = std::min(input_rows_ - 1, y_range_.high);
    const int64_t first = std::max<int64_t>(0, x_range_.low), last = std::min(input_columns_ - 1, x_range_.high);
    if (first > last) return;
    for (int64_t phase = 0; phase < std::min(x_step_, last - first + 1); ++phase) {
      const int64_t at = first + phase, column = at - x_range_.low, count = (last - at) / x_step_ + 1;
      const Element* const from = plane + at * column_stride;
      T* const row = to + column % x_step_ * phase_ + column / x_step_;
      for (int64_t y = first_row; y <= last_row; ++y)
        widen_run(from + y * row_stride, x_step_ * column_stride, count, row + (y - y_range_.low) * row_);
    }
  }

 private:
  int64_t y_step_, x_step_;
  ReadRange y_range_, x_range_;
  int64_t input_rows_, input_columns_;
  int64_t whole_ = 0, phase_ = 0, row_ = 0, size_ = 0;
};

}  // namespace fulgurite::FULGURITE_KERNELS
