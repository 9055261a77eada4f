#pragma once
#include <cstdint>

#include "executors/onednn/library_objects.h"

namespace fulgurite {

/// 32-bit elements with contiguous columns, and the same elements in a format in which the library convolves them: in
/// blocks of 16 channels, or channels last, which is one block. Each block is a transposition, which the eager kernels
/// do in a third of the time of the library's.
class ChannelBlocks {
 public:
  /// Returns false if the formats are others.
  bool describe(const dnnl_memory_desc_t& plain, const dnnl_memory_desc_t& blocked);
  void to_blocks(const void* plain, void* blocked) const;
  void from_blocks(const void* blocked, void* plain) const;

 private:
  /// Calls `work` with the first element of each run of columns, plain and blocked.
  template <class Work>
  void for_each_run(const Work&) const;

  int64_t samples_ = 0, blocks_ = 0, channels_ = 0;  // blocks of a sample, channels of a block
  int64_t rows_ = 0, run_ = 0;                       // `run_` columns, of one row or of all
  int64_t sample_stride_ = 0, channel_stride_ = 0, row_stride_ = 0, blocked_sample_stride_ = 0;
};

}  // namespace fulgurite
