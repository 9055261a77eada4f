#pragma once
#include <algorithm>

#include "executors/eager/kernels/common/along.h"
#include "ops/core/argument.h"

// Pooling: the windows of each spatial dimension are listed once; planes of spatial dimensions are then independent.
namespace fulgurite::FULGURITE_KERNELS {

/// The elements begin, begin + step, … before `end`, all of them within the input.
struct Window {
  int64_t begin, end, step;
  int64_t padded_length;  // counting padding
  int64_t length() const { return end - begin; }
};

/// The windows of three spatial dimensions; missing ones have one window over one element.
class Planes {
 public:
  /// For an input and a result with `count` spatial dimensions.
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

  /// Results `begin` to `end` of the last dimension, whose windows have the same number of elements and begin `stride`
  /// apart.
  struct Run {
    int64_t begin = 0, end = 0, stride = 1, elements = 0;
  };
  Run longest_run() const {
    const Window* const list = first(2);
    Run run;
    for (int64_t o = 0; o < results_[2];) {
      const int64_t stride = o + 1 < results_[2] ? list[o + 1].begin - list[o].begin : 1;
      int64_t end = o + 1;
      while (end < results_[2] && list[end].length() == list[o].length() &&
             list[end].begin - list[end - 1].begin == stride)
        ++end;
      if (end - o > run.end - run.begin && list[o].length() > 0)
        run = {o, end, stride, (list[o].length() + list[o].step - 1) / list[o].step};
      o = end;
    }
    return run;
  }

  Window* first(int axis) const { return list_.data() + (axis > 0 ? results_[0] : 0) + (axis > 1 ? results_[1] : 0); }
  int64_t input(int axis) const { return inputs_[axis]; }
  int64_t result(int axis) const { return results_[axis]; }
  int64_t count() const { return planes_; }
  int64_t input_plane() const { return inputs_[0] * inputs_[1] * inputs_[2]; }
  int64_t result_plane() const { return results_[0] * results_[1] * results_[2]; }

  /// Calls f(plane, windows of the first two axes, number of the row's first result) for the rows begin … end.
  template <class F>
  void visit_lines(int64_t begin, int64_t end, const F& f) const {
    if (begin >= end) return;
    int64_t y = begin % results_[1], z = begin / results_[1] % results_[0], plane = begin / (results_[0] * results_[1]);
    for (int64_t row = begin; row < end; ++row) {
      f(plane, first(0)[z], first(1)[y], row * results_[2]);
      if (++y < results_[1]) continue;
      y = 0;
      if (++z < results_[0]) continue;
      z = 0;
      ++plane;
    }
  }
  /// Calls f(plane, window of each axis, number of the result) for each result of the rows begin … end.
  template <class F>
  void visit_rows(int64_t begin, int64_t end, const F& f) const {
    visit_lines(begin, end, [&](int64_t plane, const Window& z, const Window& y, int64_t number) {
      for (int64_t x = 0; x < results_[2]; ++x) f(plane, z, y, first(2)[x], number + x);
    });
  }
  int64_t row_count() const { return planes_ * results_[0] * results_[1]; }
  /// The number of rows that are worth a thread.
  int64_t row_grain() const {
    const int64_t results = std::max<int64_t>(1, result_plane());
    const int64_t overlap = std::max<int64_t>(1, input_plane() / results);
    return grain_of(results_[2] * overlap * 4);
  }

 private:
  // The number of windows to list.
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

}  // namespace fulgurite::FULGURITE_KERNELS
