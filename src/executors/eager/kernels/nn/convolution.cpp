#include "executors/eager/gemm_block.h"
#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/linalg/pack.h"
#include "executors/eager/kernels/nn/convolution_plan.h"
#include "executors/eager/kernels/nn/depthwise.h"
#include "executors/onednn/convolution.h"
#include "executors/onednn/gemm.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

// Convolutions as GEMMs of the weight and blocks of the input's windows, which are gathered block by block.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

/// The strides of a tensor of samples, channels and three spatial dimensions.
struct Layout {
  int64_t outer, inner, spatial[3] = {0, 0, 0};
  Layout(const Tensor& t, size_t count) : outer(strides_of(t)[0]), inner(strides_of(t)[1]) {
    for (size_t d = 0; d < count; ++d) spatial[3 - count + d] = strides_of(t)[d + 2];
  }
};

/// The type that GEMMs multiply: integers unchanged, floating numbers widened.
template <class Element>
using Packed = std::conditional_t<std::is_integral_v<Compute<Element>>, Element, Compute<Element>>;

template <class Element>
Packed<Element> packed(Element e) {
  if constexpr (std::is_same_v<Packed<Element>, Element>) return e;
  else return widen(e);
}

template <class Element>
void pack_run(const Element* from, int64_t stride, int64_t count, Packed<Element>* to) {
  if constexpr (std::is_same_v<Packed<Element>, Element>) {
    if (stride == 1) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Element));
    else
      for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  } else {
    widen_row(from, stride, count, to, count);
  }
}

template <class T>
void clear(T* to, int64_t count) {
  if (count > 0) std::memset(static_cast<void*>(to), 0, static_cast<size_t>(count) * sizeof(T));
}

template <class Element>
class Convolution {
  using T = Packed<Element>;

 public:
  Convolution(Arguments a, const Tensor& result)
      : count_(sizes_of(result).size() - 2),
        input_(a[0].tensor()),
        weight_(a[1].tensor()),
        result_(result),
        x_(input_, count_),
        w_(weight_, count_),
        y_(result, count_) {
    transposed_ = a[6].boolean().hint();
    groups_ = a[8].integer().hint();
    samples_ = sizes_of(input_)[0];
    channels_ = sizes_of(input_)[1] / groups_;
    rows_ = sizes_of(result)[1] / groups_;
    for (size_t d = 0; d < count_; ++d) {
      const auto number = [&](size_t i) -> int64_t {
        const auto list = a[i].integers();
        return list[list.size() == 1 ? 0 : d].hint();
      };
      axis_[3 - count_ + d] = {
          sizes_of(input_)[d + 2], sizes_of(result)[d + 2], sizes_of(weight_)[d + 2], number(3), number(4), number(5)};
    }
    if (a[2].is_tensor()) {
      bias_ = data_of<Element>(a[2].tensor());
      bias_stride_ = strides_of(a[2].tensor())[0];
    }
  }

  void run() {
    int64_t counts[3];
    for (int d = 0; d < 3; ++d) counts[d] = axis_[d].part_count(transposed_);
    for (int64_t i = 0; i < counts[0] * counts[1] * counts[2]; ++i) {
      part_[0] = axis_[0].part(transposed_, i / (counts[1] * counts[2]));
      part_[1] = axis_[1].part(transposed_, i / counts[2] % counts[1]);
      part_[2] = axis_[2].part(transposed_, i % counts[2]);
      run_part(counts[0] * counts[1] * counts[2] == 1);
    }
  }

 private:
  void run_part(bool is_all) {
    taps_ = part_[0].taps * part_[1].taps * part_[2].taps;
    depth_ = channels_ * taps_;
    columns_ = part_[0].count * part_[1].count * part_[2].count;
    const Blocks blocks = cut_convolution(groups_, rows_, depth_, samples_, columns_);
    // The weight is used in place if each row is contiguous.
    bool is_direct = std::is_same_v<T, Element> && !transposed_;
    int64_t expected = 1;
    for (int d = 2; d >= 0; --d) {
      is_direct = is_direct && (axis_[d].kernel == 1 || w_.spatial[d] == expected);
      expected *= axis_[d].kernel;
    }
    is_direct = is_direct && (channels_ == 1 || w_.inner == expected);
    const Scratch<T> copied(is_direct ? 1 : groups_ * rows_ * depth_);
    if (!is_direct) pack_weight(copied.data());
    factors_ = is_direct ? reinterpret_cast<const T*>(data_of<Element>(weight_)) : copied.data();
    factor_row_ = is_direct ? w_.outer : depth_;
    writes_directly_ = std::is_same_v<T, Element> && is_all && blocks.within_samples && result_.impl()->is_contiguous;
    reads_directly_ = std::is_same_v<T, Element> && blocks.within_samples && taps_ == 1 && covers_input();

    const int64_t tasks = groups_ * blocks.row_count * blocks.column_count;
    const double work = 2.0 * static_cast<double>(groups_ * rows_) * static_cast<double>(depth_) *
                        static_cast<double>(columns_ * samples_);
    parallel_ranges(tasks, work < 4e5 ? tasks + 1 : 1, [&](Ranges& ranges) {
      const Scratch<T> windows(reads_directly_ ? 1 : blocks.depth * blocks.columns);
      const Scratch<T> sums(writes_directly_ ? 1 : blocks.rows * blocks.columns);
      const Scratch<ColumnRun> runs(blocks.columns);
      for (int64_t begin, end; ranges.next(begin, end);)
        for (int64_t task = begin; task < end; ++task)
          run_block(blocks, task, windows.data(), sums.data(), runs.data());
    });
  }

  // Returns true if the columns of a sample are its elements in order.
  bool covers_input() const {
    int64_t expected = 1;
    for (int d = 2; d >= 0; --d) {
      if (part_[d].step != 1 || part_[d].offset != 0 || part_[d].count != axis_[d].input) return false;
      if (axis_[d].input > 1 && x_.spatial[d] != expected) return false;
      expected *= axis_[d].input;
    }
    return true;
  }

  void pack_weight(T* to) const {
    parallel_for(groups_ * rows_, grain_of(depth_), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* out = to + row * depth_;
        for (int64_t channel = 0; channel < channels_; ++channel) {
          // Transposed, the weight's rows are the input's channels.
          const int64_t outer = transposed_ ? row / rows_ * channels_ + channel : row,
                        inner = transposed_ ? row % rows_ : channel;
          const Element* const from = data_of<Element>(weight_) + outer * w_.outer + inner * w_.inner;
          for (int64_t i = 0; i < part_[0].taps; ++i)
            for (int64_t j = 0; j < part_[1].taps; ++j, out += part_[2].taps)
              pack_run(from + kernel_offset(0, i) + kernel_offset(1, j) + kernel_offset(2, 0),
                       part_[2].kernel_step * w_.spatial[2], part_[2].taps, out);
        }
      }
    });
  }
  int64_t kernel_offset(int d, int64_t tap) const {
    return (part_[d].kernel_first + tap * part_[d].kernel_step) * w_.spatial[d];
  }

  int64_t list_runs(int64_t sample, int64_t first, int64_t count, ColumnRun* runs) const {
    const int64_t width = part_[2].count, height = part_[1].count;
    int64_t number = 0;
    for (int64_t done = 0; done < count; ++number) {
      const int64_t at = first + done, x = at % width, y = at / width % height,
                    z = at / (width * height) % part_[0].count;
      const int64_t length = std::min(width - x, count - done);
      runs[number] = {done, length, sample + at / columns_, {z, y, x}};
      done += length;
    }
    return number;
  }

  void run_block(const Blocks& blocks, int64_t task, T* windows, T* sums, ColumnRun* runs) const {
    const int64_t column_block = task % blocks.column_count, rest = task / blocks.column_count;
    const int64_t row_block = rest % blocks.row_count, group = rest / blocks.row_count;
    const int64_t first_row = row_block * blocks.rows, rows = std::min(blocks.rows, rows_ - first_row);
    const int64_t sample = blocks.within_samples ? column_block / blocks.sample_blocks : 0;
    const int64_t range = blocks.within_samples ? columns_ : columns_ * samples_;
    const int64_t first = column_block % blocks.sample_blocks * blocks.columns,
                  columns = std::min(blocks.columns, range - first);
    const int64_t run_count = reads_directly_ && writes_directly_ ? 0 : list_runs(sample, first, columns, runs);

    GemmBlock product;
    product.dtype = std::is_same_v<T, Element> ? result_.impl()->dtype : Dtype::f32;
    product.m = rows;
    product.n = columns;
    product.a_row = factor_row_;
    product.c = writes_directly_ ? static_cast<void*>(result_at(sample, group * rows_ + first_row) + first) : sums;
    product.c_row = writes_directly_ ? y_.inner : columns;
    const bool turned = part_[2].taps > part_[2].count && part_[2].offset_step > 0;
    for (int64_t k = 0; k < depth_ || k == 0; k += blocks.depth) {
      product.k = std::min(blocks.depth, depth_ - k);
      product.a = factors_ + (group * rows_ + first_row) * factor_row_ + k;
      if (reads_directly_) {
        product.b = input_at(sample, group * channels_ + k) + first;
        product.b_row = x_.inner;
      } else if (turned) {
        gather_columns(group, k, product.k, {runs, static_cast<size_t>(run_count)}, windows);
        product.b = windows;
        product.b_row = 1;
        product.b_column = product.k;
      } else {
        gather_rows(group, k, product.k, columns, {runs, static_cast<size_t>(run_count)}, windows);
        product.b = windows;
        product.b_row = columns;
      }
      product.beta = k > 0 ? 1 : 0;
      multiply_serially(product);
    }
    if (writes_directly_) add_bias(group * rows_ + first_row, rows, columns, static_cast<Element*>(product.c));
    else write(group * rows_ + first_row, rows, columns, {runs, static_cast<size_t>(run_count)}, sums);
  }

  const Element* input_at(int64_t sample, int64_t channel) const {
    return data_of<Element>(input_) + sample * x_.outer + channel * x_.inner;
  }
  Element* result_at(int64_t sample, int64_t channel) const {
    return data_of<Element>(result_) + sample * y_.outer + channel * y_.inner;
  }
  int64_t place(int d, int64_t j, int64_t tap) const {
    return j * part_[d].step + part_[d].offset + tap * part_[d].offset_step;
  }
  bool is_outside(int d, int64_t place) const { return place < 0 || place >= axis_[d].input; }

  // One row for each channel and tap.
  void gather_rows(int64_t group, int64_t first, int64_t depth, int64_t columns, std::span<const ColumnRun> runs,
                   T* to) const {
    const AxisPart& last = part_[2];
    for (int64_t k = first; k < first + depth; ++k, to += columns) {
      const int64_t tap_x = k % last.taps, tap_y = k / last.taps % part_[1].taps;
      const int64_t tap_z = k / (last.taps * part_[1].taps) % part_[0].taps, channel = group * channels_ + k / taps_;
      for (const ColumnRun& run : runs) {
        T* const out = to + run.column;
        const int64_t z = place(0, run.place[0], tap_z), y = place(1, run.place[1], tap_y),
                      x = place(2, run.place[2], tap_x);
        if (is_outside(0, z) || is_outside(1, y)) {
          clear(out, run.count);
          continue;
        }
        const Within within = places_within(x, last.step, run.count, axis_[2].input);
        clear(out, within.low);
        if (within.high > within.low)
          pack_run(input_at(run.sample, channel) + z * x_.spatial[0] + y * x_.spatial[1] +
                       (x + within.low * last.step) * x_.spatial[2],
                   last.step * x_.spatial[2], within.high - within.low, out + within.low);
        clear(out + within.high, run.count - within.high);
      }
    }
  }

  // The same matrix, column after column: for kernels that are wider than the result.
  void gather_columns(int64_t group, int64_t first, int64_t depth, std::span<const ColumnRun> runs, T* to) const {
    const AxisPart& last = part_[2];
    for (const ColumnRun& run : runs)
      for (int64_t j = 0; j < run.count; ++j, to += depth)
        for (int64_t k = first; k < first + depth;) {
          const int64_t tap_x = k % last.taps, tap_y = k / last.taps % part_[1].taps;
          const int64_t tap_z = k / (last.taps * part_[1].taps) % part_[0].taps,
                        channel = group * channels_ + k / taps_;
          const int64_t count = std::min(last.taps - tap_x, first + depth - k);
          const int64_t z = place(0, run.place[0], tap_z), y = place(1, run.place[1], tap_y),
                        x = place(2, run.place[2] + j, tap_x);
          T* const out = to + (k - first);
          k += count;
          if (is_outside(0, z) || is_outside(1, y)) {
            clear(out, count);
            continue;
          }
          const Within within = places_within(x, last.offset_step, count, axis_[2].input);
          clear(out, within.low);
          if (within.high > within.low)
            pack_run(input_at(run.sample, channel) + z * x_.spatial[0] + y * x_.spatial[1] +
                         (x + within.low * last.offset_step) * x_.spatial[2],
                     last.offset_step * x_.spatial[2], within.high - within.low, out + within.low);
          clear(out + within.high, count - within.high);
        }
  }

  Element with_bias(T sum, int64_t channel) const {
    if constexpr (std::is_integral_v<Compute<Element>>) {
      if (bias_ == nullptr) return sum;
      return element_of<Element>(static_cast<uint64_t>(widen(sum)) +
                                 static_cast<uint64_t>(widen(bias_[channel * bias_stride_])));
    } else {
      return narrow<Element>(bias_ == nullptr ? sum : sum + widen(bias_[channel * bias_stride_]));
    }
  }
  void add_bias(int64_t first_channel, int64_t rows, int64_t columns, Element* to) const {
    if constexpr (std::is_same_v<T, Element>)
      if (bias_ != nullptr)
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t i = 0; i < columns; ++i)
            to[row * y_.inner + i] = with_bias(to[row * y_.inner + i], first_channel + row);
  }
  void write(int64_t first_channel, int64_t rows, int64_t columns, std::span<const ColumnRun> runs,
             const T* sums) const {
    for (int64_t row = 0; row < rows; ++row, sums += columns)
      for (const ColumnRun& run : runs) {
        Element* const to = result_at(run.sample, first_channel + row) + result_offset(0, run) + result_offset(1, run) +
                            result_offset(2, run);
        const int64_t step = part_[2].result_step * y_.spatial[2];
        for (int64_t i = 0; i < run.count; ++i) to[i * step] = with_bias(sums[run.column + i], first_channel + row);
      }
  }
  int64_t result_offset(int d, const ColumnRun& run) const {
    return (part_[d].first + run.place[d] * part_[d].result_step) * y_.spatial[d];
  }

  size_t count_;
  const Tensor &input_, &weight_, &result_;
  Layout x_, w_, y_;
  bool transposed_;
  int64_t groups_, samples_, channels_, rows_;  // channels and rows of one group
  Axis axis_[3];
  AxisPart part_[3];
  int64_t taps_ = 0, depth_ = 0, columns_ = 0;  // columns of one sample
  const Element* bias_ = nullptr;
  int64_t bias_stride_ = 0;
  const T* factors_ = nullptr;
  int64_t factor_row_ = 0;
  bool writes_directly_ = false, reads_directly_ = false;
};

constexpr bool has_avx512 = wide_lanes<float> == 16;

void convolve(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& result = results[0];
  if (result.impl()->numel() == 0) return;
  if (has_avx512 && prefers_library(arguments, result) && library_convolution(arguments, result)) return;
  if (depthwise_convolution(arguments, result) || library_convolution(arguments, result)) return;
  visit_dtype(results[0].impl()->dtype, [&]<class Element>() {
    if constexpr (!std::is_same_v<Element, Boolean>) Convolution<Element>(arguments, result).run();
  });
}

/// A view with the first two dimensions exchanged.
Tensor turned(const Tensor& t) {
  Sizes sizes = sizes_of(t), strides = strides_of(t);
  std::swap(sizes[0], sizes[1]);
  std::swap(strides[0], strides[1]);
  return make_view(t.impl()->storage, sizes, strides, t.impl()->offset, t.impl()->dtype);
}

/// [batch, groups * channels, …] as [channels, groups * batch, …].
Tensor turned_groups(const Tensor& t, int64_t groups) {
  if (groups == 1) return turned(t);
  Sizes sizes = sizes_of(t), strides = strides_of(t);
  const int64_t batch = sizes[0], channels = sizes[1] / groups, batch_stride = strides[0], channel_stride = strides[1];
  sizes[0] = channels;
  strides[0] = channel_stride;
  sizes[1] = groups;
  strides[1] = channels * channel_stride;
  sizes.insert(2, batch);
  strides.insert(2, batch_stride);
  const Tensor view = make_view(t.impl()->storage, sizes, strides, t.impl()->offset, t.impl()->dtype);
  const Tensor copy = make_tensor(sizes, t.impl()->dtype);
  copy_elements(view, copy);
  Sizes joined = sizes_of(t);
  joined[0] = channels;
  joined[1] = groups * batch;
  return make_view(copy.impl()->storage, joined, contiguous_strides(joined), 0, t.impl()->dtype);
}

// A weight's cotangent is a convolution with batch and channels exchanged, and stride and dilation exchanged; the
// result's cotangent is the weight. Only the first results are needed, as many as the kernel has elements.
void convolve_for_weight(Arguments arguments, std::span<const Tensor> results) {
  if (results[0].impl()->numel() == 0) return;
  const bool is_first = has_avx512 && prefers_library_weight(arguments, results[0]);
  if (is_first && library_convolution_weight(arguments, results[0])) return;
  if (depthwise_weight(arguments, results[0]) || library_convolution_weight(arguments, results[0])) return;
  const Tensor samples = turned_groups(arguments[1].tensor(), arguments[6].integer().hint());
  const Tensor weight = turned(arguments[0].tensor()), result = turned(results[0]);
  const Argument exchanged[] = {samples,      weight,          Argument(), arguments[5], arguments[4],
                                arguments[3], Argument(false), Argument(), arguments[6]};
  visit_dtype(result.impl()->dtype, [&]<class Element>() {
    if constexpr (!std::is_same_v<Element, Boolean>) Convolution<Element>(exchanged, result).run();
  });
}

}  // namespace

KernelTable convolution_kernels() {
  static constexpr KernelEntry table[] = {
      {&prims_convolution_symbol, convolve},
      {&prims_convolution_weight_symbol, convolve_for_weight},
  };
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
