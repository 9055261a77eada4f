// Samples images at the points of a grid: the taps of some points are computed once, and read in every channel.
#include <cmath>

#include "executors/eager/kernels/common/along.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

enum class Outside { zeros, border, reflection };

constexpr int64_t together = 256;  // points whose taps are computed at a time

template <class Element>
class Sampling {
  using T = Compute<Element>;

 public:
  Sampling(Arguments a, const Tensor& input, const Tensor& grid, const Tensor& result)
      : channels_(sizes_of(input)[1]),
        height_(sizes_of(input)[2]),
        width_(sizes_of(input)[3]),
        points_(sizes_of(result)[2] * sizes_of(result)[3]),
        is_nearest_(a[2].string() == "nearest"),
        outside_(a[3].string() == "zeros"    ? Outside::zeros
                 : a[3].string() == "border" ? Outside::border
                                             : Outside::reflection),
        align_corners_(!a[4].is_none() && a[4].boolean().hint()),
        from_(data_of<Element>(input)),
        grid_(data_of<Element>(grid)),
        to_(data_of<Element>(result)) {}

  int64_t blocks() const { return (points_ + together - 1) / together; }

  void run(int64_t sample, int64_t block) const {
    const int64_t first = block * together, count = std::min(together, points_ - first);
    Taps taps;
    const Element* const grid = grid_ + (sample * points_ + first) * 2;
    for (int64_t i = 0; i < count; ++i) find(widen(grid[2 * i]), widen(grid[2 * i + 1]), i, taps);
    for (int64_t channel = 0; channel < channels_; ++channel) {
      const int64_t plane = sample * channels_ + channel;
      const Element* const from = from_ + plane * height_ * width_;
      Element* const to = to_ + plane * points_ + first;
      T sums[together];
      for (int corner = 0; corner < (is_nearest_ ? 1 : 4); ++corner)
        add(from, taps.index[corner], taps.weight[corner], count, corner == 0, sums);
      for (int64_t i = 0; i < count; ++i) to[i] = narrow<Element>(sums[i]);
    }
  }

 private:
  struct Taps {
    int32_t index[4][together];  // negative: outside, where the image is zero
    T weight[4][together];
  };

  static void add(const Element* from, const int32_t* index, const T* weight, int64_t count, bool is_first, T* sums) {
    for (int64_t i = 0; i < count; ++i) {
      const int32_t at = index[i];
      const T value = widen(from[at < 0 ? 0 : at]);
      const T counted = at < 0 ? T(0) : value;
      sums[i] = is_first ? counted * weight[i] : multiply_add(counted, weight[i], sums[i]);
    }
  }

  T place_of(T coordinate, int64_t size) const {
    const T raised = coordinate + 1;
    const T place = align_corners_ ? raised * static_cast<T>(static_cast<double>(size - 1) / 2)
                                   : (raised * static_cast<T>(size) - 1) / 2;
    if (outside_ == Outside::zeros) return place;
    return clipped(outside_ == Outside::border ? place : reflected(place, size), size);
  }
  static T clipped(T place, int64_t size) {
    const T last = static_cast<T>(size - 1), raised = place > 0 ? place : T(0);
    return raised < last ? raised : last;
  }
  T reflected(T place, int64_t size) const {
    const T low = align_corners_ ? T(0) : T(-0.5), span = static_cast<T>(align_corners_ ? size - 1 : size);
    if (span == 0) return place * 0;
    const T distance = std::fabs(place - low), extra = std::fmod(distance, span);
    const bool is_even = std::fmod(std::floor(distance / span), T(2)) == 0;
    return is_even ? extra + low : (span + low) - extra;
  }
  int32_t index_of(T y, T x) const {
    const bool is_inside = y >= 0 && y < static_cast<T>(height_) && x >= 0 && x < static_cast<T>(width_);
    return is_inside ? static_cast<int32_t>(static_cast<int64_t>(y) * width_ + static_cast<int64_t>(x)) : -1;
  }

  // The grid lists the coordinate of the last dimension first.
  void find(T across, T down, int64_t i, Taps& taps) const {
    const T x = place_of(across, width_), y = place_of(down, height_);
    if (is_nearest_) {
      taps.index[0][i] = index_of(std::nearbyint(y), std::nearbyint(x));
      taps.weight[0][i] = 1;
      return;
    }
    const T left = std::floor(x), top = std::floor(y), right_share = x - left, bottom_share = y - top;
    for (int corner = 0; corner < 4; ++corner) {
      const bool is_bottom = corner >= 2, is_right = corner % 2 == 1;
      taps.index[corner][i] = index_of(is_bottom ? top + 1 : top, is_right ? left + 1 : left);
      taps.weight[corner][i] =
          (is_right ? right_share : 1 - right_share) * (is_bottom ? bottom_share : 1 - bottom_share);
    }
  }

  int64_t channels_, height_, width_, points_;
  bool is_nearest_;
  Outside outside_;
  bool align_corners_;
  const Element *from_, *grid_;
  Element* to_;
};

void grid_sample_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& result = results[0];
  if (result.impl()->numel() == 0) return;
  const Tensor input = contiguous_elements(arguments[0].tensor()), grid = contiguous_elements(arguments[1].tensor());
  visit_floating(result.impl()->dtype, [&]<class Element>() {
    const Sampling<Element> sampling(arguments, input, grid, result);
    const int64_t blocks = sampling.blocks();
    parallel_for(sizes_of(result)[0] * blocks, grain_of(together * (sizes_of(result)[1] + 8)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) sampling.run(i / blocks, i % blocks);
                 });
  });
}

/// Returns true for images; volumes, cubic interpolation and images with more elements than 32 bits can index use the
/// decomposition.
bool are_images(Arguments arguments) {
  const Tensor& input = arguments[0].tensor();
  return input.ndim() == 4 && arguments[2].string() != "bicubic" &&
         input.size(2).hint() * input.size(3).hint() < int64_t{1} << 31;
}

// Sums columns that are windows of images, in the order of the kernel's elements.
void fold_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& result = results[0];
  if (result.impl()->numel() == 0) return;
  const Tensor columns = contiguous_elements(arguments[0].tensor());
  const auto number = [&](size_t i, size_t d) -> int64_t {
    const auto list = arguments[i].integers();
    return list[list.size() == 1 ? 0 : d].hint();
  };
  const Sizes& sizes = sizes_of(result);
  const int64_t height = sizes[sizes.size() - 2], width = sizes.back(),
                planes = result.impl()->numel() / (height * width);
  int64_t kernel[2], dilation[2], padding[2], stride[2], counts[2];
  for (size_t d = 0; d < 2; ++d) {
    kernel[d] = number(2, d), dilation[d] = number(3, d), padding[d] = number(4, d), stride[d] = number(5, d);
    counts[d] = ((d == 0 ? height : width) + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
  }
  const int64_t windows = counts[0] * counts[1], in_plane = kernel[0] * kernel[1] * windows;
  visit_floating(result.impl()->dtype, [&]<class Element>() {
    using T = Compute<Element>;
    const Element* const from = data_of<Element>(columns);
    parallel_ranges(planes, grain_of(in_plane), [&](Ranges& ranges) {
      const Scratch<T> sums(height * width);
      for (int64_t begin, end; ranges.next(begin, end);)
        for (int64_t plane = begin; plane < end; ++plane) {
          std::fill_n(sums.data(), height * width, T(0));
          for (int64_t k = 0; k < kernel[0] * kernel[1]; ++k) {
            const int64_t down = k / kernel[1] * dilation[0] - padding[0],
                          across = k % kernel[1] * dilation[1] - padding[1];
            // The windows whose element k is within the image.
            const int64_t first = across < 0 ? (-across + stride[1] - 1) / stride[1] : 0;
            const int64_t last = std::min(counts[1], (width - across + stride[1] - 1) / stride[1]);
            for (int64_t i = 0; i < counts[0]; ++i) {
              const int64_t y = down + i * stride[0];
              if (y < 0 || y >= height) continue;
              const Element* const row = from + plane * in_plane + k * windows + i * counts[1];
              T* const to = sums.data() + y * width + across;
              if (stride[1] == 1)
                for (int64_t j = first; j < last; ++j) to[j] += widen(row[j]);
              else
                for (int64_t j = first; j < last; ++j) to[j * stride[1]] += widen(row[j]);
            }
          }
          Element* const out = data_of<Element>(result) + plane * height * width;
          for (int64_t i = 0; i < height * width; ++i) out[i] = narrow<Element>(sums[i]);
        }
    });
  });
}
bool folds_floating(Arguments arguments) { return is_floating(arguments[0].tensor().dtype()); }

}  // namespace

KernelTable sampling_kernels() {
  static constexpr KernelEntry table[] = {
      {&grid_sample_symbol, grid_sample_kernel, are_images},
      {&fold_symbol, fold_kernel, folds_floating},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
