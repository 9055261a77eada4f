#ifdef FULGURITE_ONEDNN
#include "executors/onednn/channel_blocks.h"

#include "executors/eager/kernels.h"

namespace fulgurite {

namespace {

constexpr int64_t min_run = 16;  // columns; the library converts shorter runs

/// The channels of a block if the blocks of a sample follow each other, each with all its elements; 0 otherwise.
int64_t channels_of_block(const dnnl_memory_desc_t& type) {
  const auto& format = type.format_desc.blocking;
  if (type.format_kind != dnnl_blocked || type.extra.flags != 0 || type.ndims < 3) return 0;
  const bool is_one_block = format.inner_nblks == 0;
  const int64_t channels = is_one_block ? type.dims[1] : format.inner_blks[0];
  if (!is_one_block && (format.inner_nblks != 1 || format.inner_idxs[0] != 1 || type.dims[1] % channels != 0)) return 0;
  int64_t expected = channels;
  for (int d = type.ndims - 1; d > 1; expected *= type.dims[d--])
    if (format.strides[d] != expected) return 0;
  return format.strides[1] == (is_one_block ? 1 : expected) ? channels : 0;
}

}  // namespace

bool ChannelBlocks::describe(const dnnl_memory_desc_t& plain, const dnnl_memory_desc_t& blocked) {
  const auto& format = plain.format_desc.blocking;
  const int last = plain.ndims - 1;
  channels_ = channels_of_block(blocked);
  if (plain.data_type != dnnl_f32 || blocked.data_type != dnnl_f32 || channels_ == 0 ||
      plain.format_kind != dnnl_blocked || format.inner_nblks != 0 || format.strides[last] != 1)
    return false;
  samples_ = plain.dims[0];
  blocks_ = plain.dims[1] / channels_;
  run_ = plain.dims[last];
  int d = last - 1;
  for (; d > 1 && format.strides[d] == run_; --d) run_ *= plain.dims[d];
  if (d > 2 || run_ < min_run) return false;
  rows_ = d == 2 ? plain.dims[2] : 1;
  row_stride_ = d == 2 ? format.strides[2] : 0;
  sample_stride_ = format.strides[0];
  channel_stride_ = format.strides[1];
  blocked_sample_stride_ = blocked.format_desc.blocking.strides[0];
  return true;
}

template <class Work>
void ChannelBlocks::for_each_run(const Work& work) const {
  for (int64_t sample = 0; sample < samples_; ++sample)
    for (int64_t block = 0; block < blocks_; ++block)
      for (int64_t row = 0; row < rows_; ++row)
        work(sample * sample_stride_ + block * channels_ * channel_stride_ + row * row_stride_,
             sample * blocked_sample_stride_ + (block * rows_ + row) * channels_ * run_);
}

void ChannelBlocks::to_blocks(const void* plain, void* blocked) const {
  const auto transpose = kernel_set().transpose_matrix;
  for_each_run([&](int64_t from, int64_t to) {
    transpose(static_cast<const uint32_t*>(plain) + from, channel_stride_, static_cast<uint32_t*>(blocked) + to,
              channels_, channels_, run_);
  });
}

void ChannelBlocks::from_blocks(const void* blocked, void* plain) const {
  const auto transpose = kernel_set().transpose_matrix;
  for_each_run([&](int64_t to, int64_t from) {
    transpose(static_cast<const uint32_t*>(blocked) + from, channels_, static_cast<uint32_t*>(plain) + to,
              channel_stride_, run_, channels_);
  });
}

}  // namespace fulgurite

#endif
