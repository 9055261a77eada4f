// Fractional maximum pooling: windows at random, slowly growing distances, as gathers.
#include <fulgurite/fractional_pooling.h>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>
#include <fulgurite/random.h>

#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

const char* name_of(size_t count) { return count == 2 ? "fractional_max_pool2d" : "fractional_max_pool3d"; }
const char* sizes_text(size_t count) {
  return count == 2 ? "[N, C, H, W] or [C, H, W]" : "[N, C, D, H, W] or [C, D, H, W]";
}

/// One number for each of `count` dimensions.
std::vector<int64_t> window(const Dims& given, size_t count, const char* name, SourceLocation at) {
  std::vector<int64_t> sizes = given.to_vector();
  if (sizes.size() == 1) sizes.resize(count, sizes[0]);
  if (sizes.size() != count)
    throw UserError(text::cat(name_of(count), ": ", name, " must be 1 or ", count, " numbers, not ", sizes.size()), at);
  return sizes;
}

/// The first index of each window of one dimension: [N, C, windows].
Tensor window_starts(const Tensor& samples, int64_t size, int64_t windows, int64_t kernel, SourceLocation at) {
  const Tensor u = unsqueeze(samples, -1, at);
  if (windows == 1) return full_like(u, size - kernel, {.dtype = Dtype::i64}, at);
  const Tensor ratio = div(full_like(u, size - kernel, {}, at), windows - 1, {}, at);
  const Tensor steps = add(u, arange(windows - 1, {.dtype = samples.dtype()}, at), 1, at);
  const Tensor ends = mul(steps, ratio, at).to(Dtype::i64, at), offset = mul(u, ratio, at).to(Dtype::i64, at);
  return cat({sub(ends, offset, 1, at), full_like(offset, size - kernel, {}, at)}, -1, at);
}

/// A pooling of `count` spatial dimensions.
class Pooling {
 public:
  Pooling(const Tensor& input, const Dims& kernel_size, const Dims& output_size, size_t count, SourceLocation at)
      : input_(input), count_(count), at_(at) {
    const auto dimensions = static_cast<int>(count);
    if (!input.defined() || !is_floating(input.dtype()) ||
        (input.ndim() != dimensions + 1 && input.ndim() != dimensions + 2))
      throw UserError(text::cat(name_of(count), ": the input must be floating, ", sizes_text(count)), at);
    kernel_ = window(kernel_size, count, "kernel_size", at);
    windows_ = window(output_size, count, "output_size", at);
    for (size_t d = 0; d < count; ++d)
      if (kernel_[d] < 1 || windows_[d] < 1 || windows_[d] + kernel_[d] - 1 > size(d))
        throw UserError(text::cat(name_of(count), ": ", windows_[d], " windows of ", kernel_[d],
                                  " do not fit into a size of ", size(d)),
                        at);
    images_ = input.ndim() == dimensions + 1 ? unsqueeze(input, 0, at) : input;
    batch_ = images_.size(0);
    channels_ = images_.size(1);
  }

  std::tuple<Tensor, Tensor> operator()(const Tensor& samples) const {
    const Tensor index = indices(checked(samples));
    const Tensor flat = flatten(images_, 2, -1, at_), all = reshape(index, {batch_, channels_, -1}, at_);
    Shape by_window{batch_, channels_};
    for (const int64_t count : windows_) by_window.push_back(count);
    by_window.push_back(-1);
    const Tensor taken = reshape(gather(flat, 2, all, at_), by_window, at_);
    const auto [largest, position] = max(taken, -1, true, at_);
    const Tensor chosen = gather(reshape(index, by_window, at_), -1, position, at_);
    Shape sizes = input_.shape();
    for (size_t d = 0; d < count_; ++d) sizes[sizes.size() - count_ + d] = windows_[d];
    const Tensor values = reshape(largest, sizes, at_);
    return {values, reshape(chosen, sizes, at_)};
  }

 private:
  int64_t size(size_t d) const { return input_.size(static_cast<int>(d) - static_cast<int>(count_)).hint(); }

  Tensor checked(const Tensor& samples) const {
    const Shape wanted{batch_, channels_, static_cast<int64_t>(count_)};
    if (!samples.defined()) return rand(Dims(wanted), {.dtype = input_.dtype()}, at_);
    if (samples.shape() != wanted)
      throw UserError(text::cat(name_of(count_), ": samples must be ", wanted, ", not ", type_text(samples)), at_);
    return samples;
  }

  /// Each element of each window, as an index into an image: [N, C, windows…, kernel…].
  Tensor indices(const Tensor& samples) const {
    Tensor sum;
    int64_t area = 1;
    for (size_t d = count_; d-- > 0; area *= size(d)) {
      // PyTorch's samples of images begin with the width, those of volumes with the depth.
      const size_t sample = count_ == 2 ? 1 - d : d;
      const Tensor own = select(samples, 2, static_cast<int64_t>(sample), at_);
      const Tensor start = unsqueeze(window_starts(own, size(d), windows_[d], kernel_[d], at_), -1, at_);
      const Tensor in_window = arange(kernel_[d], {}, at_), each = add(start, in_window, 1, at_);
      Shape shape{batch_, channels_};
      for (size_t other = 0; other < count_; ++other) shape.push_back(other == d ? windows_[d] : 1);
      for (size_t other = 0; other < count_; ++other) shape.push_back(other == d ? kernel_[d] : 1);
      const Tensor offset = mul(reshape(each, shape, at_), area, at_);
      sum = sum.defined() ? add(offset, sum, 1, at_) : offset;
    }
    return sum;
  }

  const Tensor& input_;
  size_t count_;
  SourceLocation at_;
  std::vector<int64_t> kernel_, windows_;
  Tensor images_;
  Int batch_, channels_;
};

void check_one(bool has_size, bool has_ratio, size_t count, SourceLocation at) {
  if (has_size == has_ratio)
    throw UserError(text::cat(name_of(count), ": give output_size or output_ratio, one of both"), at);
}

Dims sizes_by_ratio(const Tensor& input, const std::vector<double>& ratio, size_t count, SourceLocation at) {
  if (!input.defined() || input.ndim() < static_cast<int64_t>(count) + 1)
    throw UserError(text::cat(name_of(count), ": the input is ", sizes_text(count)), at);
  Shape out;
  for (size_t d = 0; d < count; ++d) {
    const double factor = ratio[ratio.size() == 1 ? 0 : d];
    if (!(factor > 0 && factor < 1))
      throw UserError(text::cat(name_of(count), ": output_ratio must be above 0 and below 1, not ", factor), at);
    const int64_t size = input.size(static_cast<int>(d) - static_cast<int>(count));
    out.push_back(static_cast<int64_t>(static_cast<double>(size) * factor));
  }
  return Dims(out);
}

std::vector<double> ratios_of(const FractionalMaxPoolOptions& options, size_t count, SourceLocation at) {
  check_one(!options.output_size.empty(), !options.output_ratio.empty(), count, at);
  std::vector<double> ratio;
  for (size_t i = 0; i < options.output_ratio.size(); ++i) ratio.push_back(options.output_ratio.data()[i]);
  if (!ratio.empty() && ratio.size() != 1 && ratio.size() != count)
    throw UserError(text::cat(name_of(count), ": output_ratio must be 1 or ", count, " numbers, not ", ratio.size()),
                    at);
  return ratio;
}

}  // namespace

Dims fractional_output_size(const Tensor& input, const FractionalMaxPoolOptions& options, size_t count,
                            SourceLocation at) {
  const std::vector<double> ratio = ratios_of(options, count, at);
  return ratio.empty() ? options.output_size : sizes_by_ratio(input, ratio, count, at);
}

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size,
                                                              const Dims& output_size, const Tensor& samples,
                                                              SourceLocation at) {
  return Pooling(input, kernel_size, output_size, 2, at)(samples);
}
Tensor fractional_max_pool2d(const Tensor& input, const Dims& kernel_size, const Dims& output_size,
                             const Tensor& samples, SourceLocation at) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, kernel_size, output_size, samples, at));
}
std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input, const Dims& kernel_size,
                                                              const Dims& output_size, const Tensor& samples,
                                                              SourceLocation at) {
  return Pooling(input, kernel_size, output_size, 3, at)(samples);
}
Tensor fractional_max_pool3d(const Tensor& input, const Dims& kernel_size, const Dims& output_size,
                             const Tensor& samples, SourceLocation at) {
  return std::get<0>(fractional_max_pool3d_with_indices(input, kernel_size, output_size, samples, at));
}

template <size_t count>
FractionalMaxPool<count>::FractionalMaxPool(const Dims& kernel, const FractionalMaxPoolOptions& options,
                                            SourceLocation at)
    : kernel_size(kernel.to_vector()),
      output_size(options.output_size.to_vector()),
      output_ratio(ratios_of(options, count, at)) {}

template <size_t count>
Tensor FractionalMaxPool<count>::operator()(const Tensor& x, SourceLocation at) const {
  const Dims sizes = output_size.empty() ? sizes_by_ratio(x, output_ratio, count, at) : Dims(output_size);
  if constexpr (count == 2) return fractional_max_pool2d(x, Dims(kernel_size), sizes, {}, at);
  else return fractional_max_pool3d(x, Dims(kernel_size), sizes, {}, at);
}

template struct FractionalMaxPool<2>;
template struct FractionalMaxPool<3>;

}  // namespace fulgurite::nn
