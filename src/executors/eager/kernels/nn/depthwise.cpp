#include "executors/eager/kernels/nn/depthwise.h"

#include "executors/eager/kernels/nn/depthwise_planes.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t max_channels = 4;  // of a group, in and out: for more a GEMM is faster
constexpr int64_t max_taps = 128;
constexpr int64_t max_parts = 8;  // columns between strides of a transposed convolution

int64_t axis_number(const Argument& list, size_t d) {
  const auto integers = list.integers();
  return integers[integers.size() == 1 ? 0 : d].hint();
}

/// The rows and columns of a convolution; the rows of a one-dimensional one are a single row.
struct Axes {
  Axis rows, columns;
  Axes(const Sizes& input, const Sizes& result, const Sizes& kernel, const Argument& stride, const Argument& padding,
       const Argument& dilation) {
    const size_t count = input.size() - 2;
    for (size_t d = 0; d < count; ++d)
      (d + 1 == count ? columns : rows) = {input[d + 2],           result[d + 2],           kernel[d + 2],
                                           axis_number(stride, d), axis_number(padding, d), axis_number(dilation, d)};
  }
};

bool is_depthwise(const Sizes& input, const Sizes& weight, int64_t groups) {
  const size_t n = input.size();
  if (groups < 2 || n < 3 || n > 4) return false;
  const int64_t outer = weight[0] / groups, inner = weight[1], taps = n == 3 ? weight[2] : weight[2] * weight[3];
  return outer <= max_channels && inner <= max_channels && outer * inner <= max_channels && taps <= max_taps;
}

/// A tap's factor and the offset of the elements that it multiplies.
template <class T>
struct Tap {
  T factor;
  int64_t offset;
};

// `rows` rows of `vectors` vectors of results.
template <class T, int rows, int vectors>
FULGURITE_INLINE void sum_taps(const Tap<T>* taps, int64_t count, const T* from, int64_t row_step, T bias, T* to,
                               int64_t to_row) {
  using Vector = typename Wide<T>::type;
  Vector sums[rows][vectors] = {};
  for (int64_t i = 0; i < count; ++i) {
    const Vector factor = taps[i].factor - Vector{};
    const T* row = from + taps[i].offset;
    for (int r = 0; r < rows; ++r, row += row_step)
      for (int v = 0; v < vectors; ++v)
        sums[r][v] = multiply_add(factor, load_wide(row + v * wide_lanes<T>), sums[r][v]);
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) store_wide(to + r * to_row + v * wide_lanes<T>, sums[r][v] + bias);
}

template <class Element>
class DepthwiseConvolution {
  using T = Compute<Element>;

 public:
  DepthwiseConvolution(Arguments a, const Tensor& result)
      : input_(a[0].tensor()),
        weight_(a[1].tensor()),
        result_(result),
        x_(input_),
        w_(weight_),
        y_(result),
        axes_(sizes_of(input_), sizes_of(result), sizes_of(weight_), a[3], a[4], a[5]),
        is_transposed_(a[6].boolean().hint()),
        groups_(a[8].integer().hint()),
        channels_(sizes_of(input_)[1] / groups_),
        results_(sizes_of(result)[1] / groups_) {
    if (!a[2].is_tensor()) return;
    bias_ = data_of<Element>(a[2].tensor());
    bias_stride_ = strides_of(a[2].tensor())[0];
  }

  void run() const {
    const int64_t tasks = sizes_of(input_)[0] * groups_;
    const double work = 2.0 * static_cast<double>(result_.impl()->numel()) *
                        static_cast<double>(channels_ * axes_.rows.kernel * axes_.columns.kernel);
    const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(1e5 * static_cast<double>(tasks) / (work + 1)));
    parallel_ranges(tasks, work < 4e5 ? tasks + 1 : grain, [&](Ranges& ranges) {
      for (int64_t begin, end; ranges.next(begin, end);) {
        const int64_t width = x_parts().results();
        if (width > 2 * wide_lanes<T>) run_tiles<2, 4>(begin, end);
        else if (width > wide_lanes<T>) run_tiles<4, 2>(begin, end);
        else run_tiles<8, 1>(begin, end);
      }
    });
  }

 private:
  AxisParts y_parts() const { return {axes_.rows, is_transposed_}; }
  AxisParts x_parts() const { return {axes_.columns, is_transposed_}; }

  /// The memory that one thread works with.
  struct Memory {
    T* planes;
    Tap<T>* taps;
    T* sums;  // some rows of every part of the columns
  };

  template <int rows, int vectors>
  void run_tiles(int64_t begin, int64_t end) const {
    const PaddedPlane<T> plane(y_parts(), x_parts(), vectors, rows);
    const Scratch<T> planes(plane.size() * channels_), sums(x_parts().count() * rows * plane.whole_columns());
    std::fill_n(planes.data(), plane.size() * channels_, T(0));
    const Scratch<Tap<T>> taps(channels_ * axes_.rows.kernel * axes_.columns.kernel);
    const Memory memory{planes.data(), taps.data(), sums.data()};
    for (int64_t task = begin; task < end; ++task) {
      const int64_t sample = task / groups_, group = task % groups_;
      for (int64_t channel = 0; channel < channels_; ++channel)
        plane.fill(data_of<Element>(input_) + sample * x_.sample + (group * channels_ + channel) * x_.channel, x_.row,
                   x_.column, planes.data() + channel * plane.size());
      for (int64_t result = 0; result < results_; ++result)
        for (int64_t part = 0; part < y_parts().count(); ++part)
          run_rows<rows, vectors>(plane, sample, group, result, y_parts()[part], memory);
    }
  }

  template <int rows, int vectors>
  void run_rows(const PaddedPlane<T>& plane, int64_t sample, int64_t group, int64_t result, const AxisPart& y,
                const Memory& m) const {
    const int64_t channel = group * results_ + result, parts = x_parts().count();
    Element* const to = data_of<Element>(result_) + sample * y_.sample + channel * y_.channel;
    const T bias = bias_ == nullptr ? T(0) : widen(bias_[channel * bias_stride_]);
    int64_t first_tap[max_parts + 1] = {};
    for (int64_t part = 0; part < parts; ++part)
      first_tap[part + 1] =
          first_tap[part] + list_taps(y, x_parts()[part], plane, group, result, m.taps + first_tap[part]);
    for (int64_t row = 0; row < y.count; row += rows) {
      for (int64_t part = 0; part < parts; ++part)
        for (int64_t column = 0; column < plane.whole_columns(); column += vectors * wide_lanes<T>)
          sum_taps<T, rows, vectors>(m.taps + first_tap[part], first_tap[part + 1] - first_tap[part],
                                     m.planes + row * plane.result_row() + column, plane.result_row(), bias,
                                     m.sums + part * rows * plane.whole_columns() + column, plane.whole_columns());
      for (int64_t r = 0; r < std::min<int64_t>(rows, y.count - row); ++r)
        write_row(m.sums + r * plane.whole_columns(), rows * plane.whole_columns(), parts,
                  to + (y.first + (row + r) * y.result_step) * y_.row);
    }
  }

  int64_t list_taps(const AxisPart& y, const AxisPart& x, const PaddedPlane<T>& plane, int64_t group, int64_t result,
                    Tap<T>* to) const {
    int64_t count = 0;
    for (int64_t channel = 0; channel < channels_; ++channel) {
      // Transposed, the weight's rows are the input's channels.
      const int64_t outer = is_transposed_ ? group * channels_ + channel : group * results_ + result,
                    inner = is_transposed_ ? result : channel;
      const Element* const factors = data_of<Element>(weight_) + outer * w_.sample + inner * w_.channel;
      for (int64_t i = 0; i < y.taps; ++i)
        for (int64_t j = 0; j < x.taps; ++j)
          to[count++] = {widen(factors[(y.kernel_first + i * y.kernel_step) * w_.row +
                                       (x.kernel_first + j * x.kernel_step) * w_.column]),
                         channel * plane.size() + plane.tap_offset(y, i, x, j)};
    }
    return count;
  }

  /// Writes a row whose elements come from each part of the columns in turn.
  void write_row(const T* sums, int64_t part_stride, int64_t parts, Element* to) const {
    const int64_t count = axes_.columns.result;
    if (parts == 1 && y_.column == 1) return narrow_row(sums, count, to);
    if (parts == 2 && y_.column == 1) {
      const T* const others = sums + part_stride;
      for (int64_t j = 0; j < count / 2; ++j) {
        to[2 * j] = narrow<Element>(sums[j]);
        to[2 * j + 1] = narrow<Element>(others[j]);
      }
      if (count % 2 != 0) to[count - 1] = narrow<Element>(sums[count / 2]);
      return;
    }
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t j = part, i = 0; j < count; j += parts, ++i)
        to[j * y_.column] = narrow<Element>(sums[part * part_stride + i]);
  }
  static void narrow_row(const T* sums, int64_t count, Element* to) {
    if constexpr (std::is_same_v<T, Element>) copy_row(sums, to, count);
    else
      for (int64_t i = 0; i < count; ++i) to[i] = narrow<Element>(sums[i]);
  }

  const Tensor &input_, &weight_, &result_;
  PlaneLayout x_, w_, y_;
  Axes axes_;
  bool is_transposed_;
  int64_t groups_, channels_, results_;  // channels and results of a group
  const Element* bias_ = nullptr;
  int64_t bias_stride_ = 0;
};

// The sums of `count` taps over `rows` rows of cotangents, of whole vectors; `mask` is applied to the last vector's
// elements, which may be infinite where the cotangents are zeros.
template <class T, int count>
FULGURITE_INLINE void sum_products(const T* cotangents, int64_t cotangent_row, const T* from, int64_t row_step,
                                   const int64_t* offsets, int64_t rows, int64_t vectors,
                                   const typename Wide<T>::type& last, double* sums) {
  using Vector = typename Wide<T>::type;
  Vector partial[count] = {};
  for (int64_t r = 0; r < rows; ++r, cotangents += cotangent_row, from += row_step) {
    for (int64_t v = 0; v + 1 < vectors; ++v) {
      const Vector cotangent = load_wide(cotangents + v * wide_lanes<T>);
      for (int t = 0; t < count; ++t)
        partial[t] = multiply_add(cotangent, load_wide(from + offsets[t] + v * wide_lanes<T>), partial[t]);
    }
    const int64_t v = vectors - 1;
    const Vector cotangent = load_wide(cotangents + v * wide_lanes<T>);
    for (int t = 0; t < count; ++t) {
      const Vector elements = load_wide(from + offsets[t] + v * wide_lanes<T>);
      partial[t] = multiply_add(cotangent, last != 0 ? elements : Vector{}, partial[t]);
    }
  }
  for (int t = 0; t < count; ++t)
    for (int64_t lane = 0; lane < wide_lanes<T>; ++lane)
      sums[t * wide_lanes<T> + lane] += static_cast<double>(partial[t][lane]);
}

template <class Element>
class DepthwiseWeight {
  using T = Compute<Element>;
  static constexpr int64_t taps_at_once = 9;
  static constexpr int64_t max_vectors = 128;  // added in T before their sum is added in f64

 public:
  DepthwiseWeight(Arguments a, const Tensor& result)
      : cotangent_(a[0].tensor()),
        input_(a[1].tensor()),
        result_(result),
        c_(cotangent_),
        x_(input_),
        w_(result),
        axes_(sizes_of(input_), sizes_of(cotangent_), sizes_of(result), a[3], a[4], a[5]),
        groups_(a[6].integer().hint()),
        channels_(sizes_of(input_)[1] / groups_),
        results_(sizes_of(cotangent_)[1] / groups_),
        y_part_(axes_.rows.part(false, 0)),
        x_part_(axes_.columns.part(false, 0)),
        vectors_((x_part_.count + wide_lanes<T> - 1) / wide_lanes<T>),
        plane_({axes_.rows, false}, {axes_.columns, false}, 1, 0) {
    for (int64_t lane = 0; lane < wide_lanes<T>; ++lane)
      last_[lane] = (vectors_ - 1) * wide_lanes<T> + lane < x_part_.count ? T(1) : T(0);
  }

  void run() const {
    const double work = 2.0 * static_cast<double>(cotangent_.impl()->numel()) * static_cast<double>(taps() * channels_);
    parallel_ranges(groups_, work < 4e5 ? groups_ + 1 : 1, [&](Ranges& ranges) {
      const Scratch<T> planes(plane_.size()), cotangents(y_part_.count * vectors_ * wide_lanes<T>);
      std::fill_n(planes.data(), plane_.size(), T(0));
      std::fill_n(cotangents.data(), y_part_.count * vectors_ * wide_lanes<T>, T(0));
      const Scratch<double> sums(channels_ * results_ * taps() * wide_lanes<T>);
      const Scratch<int64_t> offsets(taps());
      for (int64_t t = 0; t < taps(); ++t)
        offsets[t] = plane_.tap_offset(y_part_, t / x_part_.taps, x_part_, t % x_part_.taps);
      for (int64_t begin, end; ranges.next(begin, end);)
        for (int64_t group = begin; group < end; ++group)
          run_group(group, {planes.data(), cotangents.data(), sums.data(), offsets.data()});
    });
  }

 private:
  struct Memory {
    T *plane, *cotangents;
    double* sums;
    const int64_t* offsets;
  };
  int64_t taps() const { return y_part_.taps * x_part_.taps; }

  void run_group(int64_t group, const Memory& m) const {
    std::fill_n(m.sums, channels_ * results_ * taps() * wide_lanes<T>, 0.0);
    for (int64_t sample = 0; sample < sizes_of(input_)[0]; ++sample)
      for (int64_t channel = 0; channel < channels_; ++channel) {
        plane_.fill(data_of<Element>(input_) + sample * x_.sample + (group * channels_ + channel) * x_.channel, x_.row,
                    x_.column, m.plane);
        for (int64_t result = 0; result < results_; ++result) {
          widen_cotangents(sample, group * results_ + result, m.cotangents);
          add_plane(m, m.sums + (result * channels_ + channel) * taps() * wide_lanes<T>);
        }
      }
    for (int64_t i = 0; i < channels_ * results_ * taps(); ++i) write(group, i, m.sums + i * wide_lanes<T>);
  }

  void widen_cotangents(int64_t sample, int64_t channel, T* to) const {
    const Element* const from = data_of<Element>(cotangent_) + sample * c_.sample + channel * c_.channel;
    const int64_t width = vectors_ * wide_lanes<T>;
    for (int64_t y = 0; y < y_part_.count; ++y) widen_run(from + y * c_.row, c_.column, x_part_.count, to + y * width);
  }

  void add_plane(const Memory& m, double* sums) const {
    const int64_t block = std::max<int64_t>(1, max_vectors / vectors_);
    for (int64_t row = 0; row < y_part_.count; row += block)
      for (int64_t tap = 0; tap < taps(); tap += taps_at_once)
        add_rows_of(m, row, std::min(block, y_part_.count - row), tap, sums + tap * wide_lanes<T>);
  }

  void add_rows_of(const Memory& m, int64_t row, int64_t rows, int64_t tap, double* sums) const {
    const int64_t width = vectors_ * wide_lanes<T>, count = std::min(taps_at_once, taps() - tap);
    const T *const cotangents = m.cotangents + row * width, *const from = m.plane + row * plane_.result_row();
    const auto add = [&]<int some>(std::integral_constant<int, some>, int64_t first) {
      sum_products<T, some>(cotangents, width, from, plane_.result_row(), m.offsets + tap + first, rows, vectors_,
                            last_, sums + first * wide_lanes<T>);
    };
    if (count == taps_at_once) return add(std::integral_constant<int, 9>(), 0);
    int64_t first = 0;
    for (; first + 3 <= count; first += 3) add(std::integral_constant<int, 3>(), first);
    for (; first < count; ++first) add(std::integral_constant<int, 1>(), first);
  }

  // `number` counts the group's results, channels and taps, the taps first.
  void write(int64_t group, int64_t number, const double* lane_sums) const {
    double sum = 0;
    for (int64_t lane = 0; lane < wide_lanes<T>; ++lane) sum += lane_sums[lane];
    const int64_t tap = number % taps(), channel = number / taps() % channels_, result = number / taps() / channels_;
    data_of<Element>(result_)[(group * results_ + result) * w_.sample + channel * w_.channel +
                              tap / x_part_.taps * w_.row + tap % x_part_.taps * w_.column] =
        narrow<Element>(static_cast<T>(sum));
  }

  const Tensor &cotangent_, &input_, &result_;
  PlaneLayout c_, x_, w_;
  Axes axes_;
  int64_t groups_, channels_, results_;  // channels and results of a group
  AxisPart y_part_, x_part_;
  int64_t vectors_;
  PaddedPlane<T> plane_;
  typename Wide<T>::type last_;
};

}  // namespace

bool depthwise_convolution(Arguments arguments, const Tensor& result) {
  const auto strides = arguments[3].integers();
  if (arguments[6].boolean().hint() && strides[strides.size() - 1].hint() > max_parts) return false;
  if (!is_floating(result.impl()->dtype) || result.impl()->numel() == 0 || arguments[0].tensor().impl()->numel() == 0 ||
      !is_depthwise(sizes_of(arguments[0].tensor()), sizes_of(arguments[1].tensor()), arguments[8].integer().hint()))
    return false;
  visit_floating(result.impl()->dtype,
                 [&]<class Element>() { DepthwiseConvolution<Element>(arguments, result).run(); });
  return true;
}

bool depthwise_weight(Arguments arguments, const Tensor& result) {
  const Tensor &cotangent = arguments[0].tensor(), &input = arguments[1].tensor();
  if (!is_floating(result.impl()->dtype) || cotangent.impl()->numel() == 0 || input.impl()->numel() == 0 ||
      !is_depthwise(sizes_of(input), sizes_of(result), arguments[6].integer().hint()))
    return false;
  visit_floating(result.impl()->dtype, [&]<class Element>() { DepthwiseWeight<Element>(arguments, result).run(); });
  return true;
}

}  // namespace fulgurite::FULGURITE_KERNELS
