// Resizing in one pass: the taps of each spatial dimension are listed once; rows of the result are computed from rows
// of the input.
#include <cmath>

#include "executors/eager/kernels/common/along.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// For each index of the result in one dimension, the elements of the input that contribute, and their weights.
template <class T>
class Taps {
 public:
  Taps(int64_t most, int64_t to) : index_(most * to), weight_(most * to), to_(to) {}
  void keep() {
    count_ = 1;
    is_kept_ = true;
    for (int64_t i = 0; i < to_; ++i) set(0, i, static_cast<T>(i), to_, 1);
  }
  void nearest(int64_t from, double scale, bool exact) {
    if (!exact && from == to_) return keep();
    count_ = 1;
    for (int64_t i = 0; i < to_; ++i) {
      const T place =
          exact ? (static_cast<T>(i) + T(0.5)) * static_cast<T>(scale) : static_cast<T>(i) * static_cast<T>(scale);
      set(0, i, std::floor(place), from, 1);
    }
  }
  void linear(int64_t from, double scale, bool align_corners) {
    if (from == to_) return keep();
    count_ = 2;
    for (int64_t i = 0; i < to_; ++i) {
      const T last = static_cast<T>(from - 1), place = place_of(i, scale, align_corners);
      const T inside = place < 0      ? T(0)
                       : place > last ? last
                                      : place,
              below = std::floor(inside), share = inside - below;
      set(0, i, below, from, 1 - share);
      set(1, i, below + 1, from, share);
    }
  }
  void cubic(int64_t from, double scale, bool align_corners) {
    count_ = 4;
    for (int64_t i = 0; i < to_; ++i) {
      const T place = place_of(i, scale, align_corners), below = std::floor(place), share = place - below;
      const T weights[4] = {far(share + 1), near(share), near(1 - share), far(2 - share)};
      for (int tap = 0; tap < 4; ++tap) set(tap, i, below + static_cast<T>(tap - 1), from, weights[tap]);
    }
  }
  int count() const { return count_; }
  bool is_kept() const { return is_kept_; }
  const int32_t* index(int tap) const { return index_.data() + tap * to_; }
  const T* weight(int tap) const { return weight_.data() + tap * to_; }

 private:
  static T place_of(int64_t i, double scale, bool align_corners) {
    const T factor = static_cast<T>(scale), place = static_cast<T>(i);
    return align_corners ? place * factor : (place + T(0.5)) * factor - T(0.5);
  }
  // The cubic convolution with slope -0.75 up to a distance of one element, and from there to two.
  static T near(T x) { return (x * T(1.25) - T(2.25)) * (x * x) + 1; }
  static T far(T x) { return ((x * T(-0.75) + T(3.75)) * x - 6) * x + 3; }
  void set(int tap, int64_t i, T place, int64_t from, T weight) {
    const T last = static_cast<T>(from - 1);
    index_[tap * to_ + i] = static_cast<int32_t>(place < 0 ? T(0) : place > last ? last : place);
    weight_[tap * to_ + i] = weight;
  }

  Scratch<int32_t> index_;
  Scratch<T> weight_;
  int64_t to_;
  int count_ = 1;
  bool is_kept_ = false;
};

/// One dimension of the call.
struct Axis {
  int64_t from = 1, to = 1;
  double scale = 1;
};
struct Request {
  Axis axis[3];  // depth, height, width
  std::string_view mode;
  bool align_corners;

  Request(Arguments a, const Tensor& result)
      : mode(a[3].string()), align_corners(!a[4].is_none() && a[4].boolean().hint()) {
    const size_t count = sizes_of(result).size() - 2;
    const bool has_factors = !a[2].is_none() && (a[5].is_none() || !a[5].boolean().hint());
    const auto factors = a[2].floatings();
    for (size_t d = 0; d < count; ++d) {
      Axis& x = axis[3 - count + d];
      x.from = sizes_of(a[0].tensor())[d + 2];
      x.to = sizes_of(result)[d + 2];
      if (align_corners) x.scale = x.to > 1 ? static_cast<double>(x.from - 1) / static_cast<double>(x.to - 1) : 0;
      else if (has_factors) x.scale = 1.0 / factors[factors.size() == 1 ? 0 : d].hint();
      else x.scale = static_cast<double>(x.from) / static_cast<double>(x.to);
    }
  }
  template <class T>
  void list(int dim, Taps<T>& taps) const {
    const Axis& x = axis[dim];
    if (mode.starts_with("nearest")) taps.nearest(x.from, x.scale, mode == "nearest-exact");
    else if (mode == "bicubic" && dim > 0) taps.cubic(x.from, x.scale, align_corners);
    else taps.linear(x.from, x.scale, align_corners);
  }
};

/// Gathers elements of one row.
template <class Element>
void choose(const Element* from, const int32_t* index, int64_t count, Element* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[index[i]];
}

template <class Element>
void nearest(const Request& r, const Tensor& input, const Tensor& result) {
  const Axis *depth = &r.axis[0], *height = &r.axis[1], *width = &r.axis[2];
  Taps<float> z(1, depth->to), y(1, height->to), x(1, width->to);
  r.list(0, z), r.list(1, y), r.list(2, x);
  const Element* const from = data_of<Element>(input);
  Element* const to = data_of<Element>(result);
  const int64_t rows = result.impl()->numel() / width->to;
  parallel_for(rows, grain_of(width->to), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t plane = row / (height->to * depth->to);
      const int64_t source = (plane * depth->from + z.index(0)[row / height->to % depth->to]) * height->from +
                             y.index(0)[row % height->to];
      choose(from + source * width->from, x.index(0), width->to, to + row * width->to);
    }
  });
}

/// Adds up weighted rows, one after the other.
template <class T>
void add_weighted(const T* row, T weight, bool is_first, int64_t count, T* sum) {
  if (is_first)
    for (int64_t i = 0; i < count; ++i) sum[i] = row[i] * weight;
  else
    for (int64_t i = 0; i < count; ++i) sum[i] = multiply_add(row[i], weight, sum[i]);
}

template <class Element>
class Resizing {
  using T = Compute<Element>;

 public:
  Resizing(const Request& r, const Tensor& input, const Tensor& result)
      : depth_(r.axis[0]),
        height_(r.axis[1]),
        width_(r.axis[2]),
        z_(4, depth_.to),
        y_(4, height_.to),
        x_(4, width_.to),
        from_(data_of<Element>(input)),
        to_(data_of<Element>(result)),
        convert_(find_conversion(input.impl()->dtype, dtype_of_computed())),
        narrow_(find_conversion(dtype_of_computed(), input.impl()->dtype)) {
    r.list(0, z_), r.list(1, y_), r.list(2, x_);
  }
  void run(int64_t begin, int64_t end) const {
    const Scratch<T> buffers(3 * width_.from + width_.to);
    T* const out = buffers.data() + 3 * width_.from;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t plane = row / (height_.to * depth_.to);
      const T* const sum = rows_of(plane, row / height_.to % depth_.to, row % height_.to, buffers.data());
      if (x_.is_kept()) {
        narrow_(sum, 1, to_ + row * width_.to, width_.to);
        continue;
      }
      along_row(sum, out);
      narrow_(out, 1, to_ + row * width_.to, width_.to);
    }
  }

 private:
  static constexpr Dtype dtype_of_computed() { return std::is_same_v<T, double> ? Dtype::f64 : Dtype::f32; }

  /// A row as wide as the input's: the weighted rows, dimension after dimension.
  const T* rows_of(int64_t plane, int64_t z, int64_t y, T* buffers) const {
    T *const read = buffers, *const in_depth = buffers + width_.from, *const sum = buffers + 2 * width_.from;
    const T* row = nullptr;
    for (int j = 0; j < y_.count(); ++j) {
      for (int i = 0; i < z_.count(); ++i) {
        const int64_t source = (plane * depth_.from + z_.index(i)[z]) * height_.from + y_.index(j)[y];
        const Element* const from = from_ + source * width_.from;
        if constexpr (std::is_same_v<Element, T>) {
          row = from;
        } else {
          convert_(from, 1, read, width_.from);
          row = read;
        }
        if (!z_.is_kept()) add_weighted(row, z_.weight(i)[z], i == 0, width_.from, in_depth);
      }
      if (!z_.is_kept()) row = in_depth;
      if (!y_.is_kept()) add_weighted(row, y_.weight(j)[y], j == 0, width_.from, sum);
    }
    return y_.is_kept() ? row : sum;
  }
  void along_row(const T* row, T* out) const {
    for (int tap = 0; tap < x_.count(); ++tap) {
      const int32_t* const index = x_.index(tap);
      const T* const weight = x_.weight(tap);
      if (tap == 0)
        for (int64_t i = 0; i < width_.to; ++i) out[i] = row[index[i]] * weight[i];
      else
        for (int64_t i = 0; i < width_.to; ++i) out[i] = multiply_add(row[index[i]], weight[i], out[i]);
    }
  }

  const Axis &depth_, &height_, &width_;
  Taps<T> z_, y_, x_;
  const Element* from_;
  Element* to_;
  Convert convert_, narrow_;
};

void interpolate_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& result = results[0];
  if (result.impl()->numel() == 0) return;
  const Tensor input = contiguous_elements(arguments[0].tensor());
  const Request request(arguments, result);
  if (request.mode.starts_with("nearest") && result.impl()->dtype != Dtype::f64)
    return visit_size(result.impl()->dtype, [&]<class Element>() { nearest<Element>(request, input, result); });
  visit_floating(result.impl()->dtype, [&]<class Element>() {
    const Resizing<Element> resizing(request, input, result);
    const Axis &height = request.axis[1], &width = request.axis[2];
    const int64_t rows = result.impl()->numel() / width.to;
    parallel_for(rows, grain_of(width.to * 4 + width.from * (height.to > 1 ? 4 : 1)),
                 [&](int64_t begin, int64_t end) { resizing.run(begin, end); });
  });
}

/// Area mode is pooling, and antialiasing needs an unbounded number of taps: both use the decomposition.
bool has_few_taps(Arguments arguments) {
  return !arguments[6].boolean().hint() && arguments[3].string() != "area" &&
         (is_floating(arguments[0].tensor().dtype()) || arguments[3].string().starts_with("nearest"));
}

}  // namespace

KernelTable interpolation_kernels() {
  static constexpr KernelEntry table[] = {{&interpolate_symbol, interpolate_kernel, has_few_taps}};
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
