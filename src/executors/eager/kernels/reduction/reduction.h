#pragma once
#include <algorithm>

#include "executors/eager/kernels/common/elements.h"
#include "executors/eager/kernels/common/strided.h"
#include "ops/core/argument.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {

// Every reduction has one order, which depends on the number of elements alone: blocks of `reduction_block` elements,
// each reduced by lanes and a fixed tree; blocks joined pairwise within chunks, and chunks pairwise. Threads reduce
// whole chunks or whole results. If outer dimensions are reduced, adjacent columns are reduced together: see
// column_reduction.h.

inline constexpr int64_t reduction_block = 4096;
inline constexpr int64_t reduction_chunks = 256;  // the maximum for one result

/// The offsets of the elements that are reduced into one result, and of the results' first elements.
struct ReductionLayout {
  Tensor tensor;  // the input, or a copy of it
  const char* data;
  Dtype dtype;
  StridedLoop<1> kept, reduced;
  int64_t results, count;  // elements of each result

  ReductionLayout(const Tensor& input, const Argument& dims);
  /// Each result's elements are a contiguous row.
  bool is_row() const { return reduced.sizes.size() == 1 && (reduced.strides[0][0] == 1 || count == 1); }
  /// The same elements in the same order, copied so that each result's are a contiguous row; itself if that gains
  /// nothing.
  ReductionLayout in_rows() const;
  /// Adjacent results are reduced from adjacent elements.
  bool is_columns() const { return (!is_row() || count == 1) && kept.strides[0].back() == 1 && kept.row_length() >= 8; }
};

/// Joins states pairwise, like a binary counter: state k with its neighbour, pairs with pairs, in an order fixed by
/// their number.
template <class Reducer>
class PairwiseJoin {
 public:
  using State = typename Reducer::State;
  void add(State state) {
    for (int64_t n = count_++; n & 1; n >>= 1) state = Reducer::join(pending_[--depth_], state);
    pending_[depth_++] = state;
  }
  State finish() {
    State state = pending_[--depth_];
    while (depth_ > 0) state = Reducer::join(pending_[--depth_], state);
    return state;
  }

 private:
  State pending_[48];
  int depth_ = 0;
  int64_t count_ = 0;
};

/// Elements [begin, end) of one result as the reducer's type, a block at a time.
template <class T>
class BlockReader {
 public:
  BlockReader(const ReductionLayout& places, int64_t result_offset, int64_t begin)
      : places_(places),
        item_(size_of(places.dtype)),
        length_(places.reduced.row_length()),
        column_(begin % length_),
        position_(places.reduced, begin / length_),
        row_(places.data + result_offset * item_),
        stride_(places.reduced.strides[0].back()) {}

  const T* read(int64_t count, Dtype type, Convert convert) {
    if (stride_ == 1 && places_.dtype == type && length_ - column_ >= count) {
      const char* at = row_ + (position_.offsets[0] + column_) * item_;
      step(count);
      return reinterpret_cast<const T*>(at);
    }
    for (int64_t done = 0; done < count;) {
      const int64_t chunk = std::min(length_ - column_, count - done);
      convert(row_ + (position_.offsets[0] + column_ * stride_) * item_, stride_, buffer_ + done, chunk);
      done += chunk;
      step(chunk);
    }
    return buffer_;
  }

 private:
  void step(int64_t count) {
    column_ += count;
    if (column_ < length_) return;
    column_ = 0;
    position_.advance();
  }
  const ReductionLayout& places_;
  int64_t item_, length_, column_;
  RowPosition<1> position_;
  const char* row_;
  int64_t stride_;
  alignas(64) T buffer_[reduction_block];
};

/// Reducer: `Element` (the type it reads, of dtype `element_dtype`), `State`, static State block(const Element*,
/// int64_t count, int64_t first) for `count` elements from number `first` on, and static State join(State, State).
template <class Reducer>
typename Reducer::State reduce_blocks(const ReductionLayout& places, int64_t result_offset, int64_t begin, int64_t end,
                                      Convert convert) {
  using Element = typename Reducer::Element;
  if (places.is_row() && places.dtype == Reducer::element_dtype && end - begin <= reduction_block) {
    const Element* row = reinterpret_cast<const Element*>(places.data) + result_offset;
    return Reducer::block(row + begin, end - begin, begin);
  }
  PairwiseJoin<Reducer> join;
  BlockReader<Element> reader(places, result_offset, begin);
  for (int64_t at = begin; at < end; at += reduction_block) {
    const int64_t count = std::min(reduction_block, end - at);
    join.add(Reducer::block(reader.read(count, Reducer::element_dtype, convert), count, at));
  }
  return join.finish();
}

/// Calls finish(result index, state) for every result; there must be elements to reduce.
template <class Reducer, class Finish>
void reduce_rows(const ReductionLayout& given, Finish finish) {
  const ReductionLayout places = given.in_rows();
  const Convert convert = find_conversion(places.dtype, Reducer::element_dtype);
  const int64_t blocks = (places.count + reduction_block - 1) / reduction_block;
  const int64_t chunk = (blocks + reduction_chunks - 1) / reduction_chunks * reduction_block;
  const int64_t chunks = (places.count + chunk - 1) / chunk;
  const auto reduce_chunk = [&](int64_t offset, int64_t c) {
    return reduce_blocks<Reducer>(places, offset, c * chunk, std::min(places.count, (c + 1) * chunk), convert);
  };
  const int64_t row_length = places.kept.row_length(), row_stride = places.kept.strides[0].back();
  if (places.results < 4 && chunks > 1) {
    typename Reducer::State states[reduction_chunks];
    for (int64_t result = 0; result < places.results; ++result) {
      RowPosition<1> position(places.kept, result / row_length);
      const int64_t offset = position.offsets[0] + result % row_length * row_stride;
      parallel_for(chunks, std::max<int64_t>(1, 32768 / chunk), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) states[c] = reduce_chunk(offset, c);
      });
      PairwiseJoin<Reducer> join;
      for (int64_t c = 0; c < chunks; ++c) join.add(states[c]);
      finish(result, join.finish());
    }
    return;
  }
  parallel_for(places.results, std::max<int64_t>(1, 32768 / places.count), [&](int64_t begin, int64_t end) {
    RowPosition<1> position(places.kept, begin / row_length);
    int64_t column = begin % row_length;
    for (int64_t result = begin; result < end; ++result) {
      const int64_t offset = position.offsets[0] + column * row_stride;
      if (chunks == 1) {
        finish(result, reduce_chunk(offset, 0));
      } else {
        PairwiseJoin<Reducer> join;
        for (int64_t c = 0; c < chunks; ++c) join.add(reduce_chunk(offset, c));
        finish(result, join.finish());
      }
      if (++column == row_length) {
        column = 0;
        position.advance();
      }
    }
  });
}

}  // namespace fulgurite::FULGURITE_KERNELS
