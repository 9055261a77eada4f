#pragma once
#include <algorithm>
#include <cstring>

#include "executors/eager/index_error.h"
#include "executors/eager/kernels/common/along.h"
#include "executors/eager/kernels/common/strided.h"
#include "runtime/threads/parallel_for.h"

// The offsets of indexed elements: for gather and scatter, which index along one dimension, and for prims.index and
// prims.index_put.
namespace fulgurite::FULGURITE_KERNELS {

/// The offsets of the elements that an index tensor selects along dimension `dim` of `input`, together with another
/// tensor's at the index's own positions.
class OffsetsAlong {
 public:
  OffsetsAlong(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& other) : index_(index) {
    const Sizes &sizes = sizes_of(index), &strides = strides_of(input);
    if (dim < 0) dim += static_cast<int64_t>(strides.size());
    size_ = strides.empty() ? 1 : sizes_of(input)[dim];
    stride_ = strides.empty() ? 0 : strides[dim];
    loop_.sizes = sizes;
    loop_.strides[0] = strides_of(index);
    loop_.strides[1] = strides;
    loop_.strides[1].resize(sizes.size());
    if (static_cast<size_t>(dim) < sizes.size()) loop_.strides[1][dim] = 0;
    loop_.strides[2] = strides_of(other);
    loop_.strides[2].resize(sizes.size());
    is_empty_ = index.impl()->numel() == 0;
    if (!is_empty_) loop_.merge_dimensions();
  }
  bool is_empty() const { return is_empty_; }

  /// Calls f(input offset, other offset, input step, other step, place, count) for rows of positions: element j of a
  /// row is at input offset + j * input step + place(j) of the input.
  template <class F>
  void visit_rows(const F& f, bool in_parallel) const {
    visit_index(index_.impl()->dtype, [&]<class Index>() {
      const Index* indices = data_of<Index>(index_);
      const int64_t step = loop_.strides[0].back(), count = loop_.row_length();
      const auto body = [&](int64_t begin, int64_t end) {
        RowPosition<3> position(loop_, begin);
        for (int64_t row = begin; row < end; ++row, position.advance()) {
          const Index* const numbers = indices + position.offsets[0];
          const auto place = [&](int64_t j) {
            return counted_place(static_cast<int64_t>(numbers[j * step]), size_) * stride_;
          };
          f(position.offsets[1], position.offsets[2], loop_.strides[1].back(), loop_.strides[2].back(), place, count);
        }
      };
      if (in_parallel) parallel_for(loop_.row_count(), grain_of(count), body);
      else body(0, loop_.row_count());
    });
  }

 private:
  const Tensor& index_;
  StridedLoop<3> loop_;  // index, input without `dim`, other
  int64_t size_ = 1, stride_ = 0;
  bool is_empty_ = false;
};

/// The indexed elements of prims.index: the result has the input's dimensions before the indexed ones, the indices'
/// dimensions, and the dimensions after them; the indices' come first if the indexed dimensions are not adjacent.
class IndexedOffsets {
 public:
  /// Negative indices count from the end if the operator allows it.
  IndexedOffsets(const Tensor& input, std::span<const Tensor> indices, bool counts_from_end = true)
      : offsets_(count_places(indices)), counts_from_end_(counts_from_end) {
    const Sizes &sizes = sizes_of(input), &strides = strides_of(input);
    size_t first = sizes.size(), last = 0, defined = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (!indices[d].defined()) continue;
      first = std::min(first, d);
      last = d;
      ++defined;
    }
    const bool adjacent = defined == 0 || last - first + 1 == defined;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (d < indices.size() && indices[d].defined()) continue;
      const bool is_before = adjacent && d < first;
      (is_before ? before_ : after_).sizes.push_back(sizes[d]);
      (is_before ? before_ : after_).strides[0].push_back(strides[d]);
      if (is_before) before_count_ *= sizes[d];
      else after_count_ *= sizes[d];
    }
    for (int64_t p = 0; p < places_; ++p) offsets_[p] = 0;
    for (size_t d = 0; d < indices.size(); ++d)
      if (indices[d].defined()) add_offsets(indices[d], sizes[d], strides[d]);
    before_sizes_ = before_.sizes;
    after_sizes_ = after_.sizes;
    before_.merge_dimensions();
    after_.merge_dimensions();
  }

  /// The shape of prims.index's result.
  Sizes shape() const {
    Sizes shape = before_sizes_;
    shape.append(places_shape_.begin(), places_shape_.end());
    shape.append(after_sizes_.begin(), after_sizes_.end());
    return shape;
  }
  bool is_empty() const { return places_ * before_count_ * after_count_ == 0; }

  /// result = input at the indices.
  void read(const Tensor& input, const Tensor& result) const {
    if (is_empty()) return;
    visit_size(result.impl()->dtype, [&]<class Element>() {
      const Element* from = data_of<Element>(input);
      Element* to = data_of<Element>(result);
      parallel_for(before_count_ * places_, grain_of(after_count_), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          visit_after(offset_before(i / places_) + offsets_[i % places_],
                      [&](int64_t at, int64_t step, int64_t first, int64_t count) {
                        Element* const row = to + i * after_count_ + first;
                        if (step == 1) std::memcpy(row, from + at, static_cast<size_t>(count) * sizeof(Element));
                        else
                          for (int64_t j = 0; j < count; ++j) row[j] = from[at + j * step];
                      });
      });
    });
  }

  /// Calls f(offset in the input, step, index in the result's order, count) for rows of elements, in the result's
  /// order.
  template <class F>
  void visit_in_order(const F& f) const {
    if (is_empty()) return;
    for (int64_t i = 0; i < before_count_ * places_; ++i)
      visit_after(offset_before(i / places_) + offsets_[i % places_],
                  [&](int64_t at, int64_t step, int64_t first, int64_t count) {
                    f(at, step, i * after_count_ + first, count);
                  });
  }

 private:
  // Returns the number of indices; records their shape.
  int64_t count_places(std::span<const Tensor> indices) {
    for (const Tensor& index : indices) {
      if (!index.defined()) continue;
      const Sizes& sizes = sizes_of(index);
      while (places_shape_.size() < sizes.size()) places_shape_.insert(0, 1);
      for (size_t d = 0; d < sizes.size(); ++d) {
        int64_t& size = places_shape_[places_shape_.size() - sizes.size() + d];
        if (size == 1) size = sizes[d];
      }
    }
    for (const int64_t size : places_shape_) places_ *= size;
    return places_;
  }
  void add_offsets(const Tensor& index, int64_t size, int64_t stride) {
    if (places_ == 0) return;
    StridedLoop<1> loop{places_shape_, {broadcast_strides(*index.impl(), places_shape_)}};
    loop.merge_dimensions();
    visit_index(index.impl()->dtype, [&]<class Index>() {
      const Index* numbers = data_of<Index>(index);
      RowPosition<1> position(loop, 0);
      int64_t* to = offsets_.data();
      for (int64_t row = 0; row < loop.row_count(); ++row, position.advance())
        for (int64_t j = 0; j < loop.row_length(); ++j) {
          const auto place = static_cast<int64_t>(numbers[position.offsets[0] + j * loop.strides[0].back()]);
          *to++ += (counts_from_end_ ? checked_place(place, size) : counted_place(place, size)) * stride;
        }
    });
  }
  int64_t offset_before(int64_t index) const {
    int64_t offset = 0;
    for (size_t d = before_.sizes.size(); d-- > 0;) {
      offset += index % before_.sizes[d] * before_.strides[0][d];
      index /= before_.sizes[d];
    }
    return offset;
  }
  template <class F>
  void visit_after(int64_t offset, const F& f) const {
    const int64_t length = after_.row_length();
    if (after_.sizes.size() == 1) {
      f(offset, after_.strides[0].back(), 0, length);
      return;
    }
    RowPosition<1> position(after_, 0);
    for (int64_t row = 0; row < after_count_ / length; ++row, position.advance())
      f(offset + position.offsets[0], after_.strides[0].back(), row * length, length);
  }

  Sizes places_shape_, before_sizes_, after_sizes_;
  int64_t places_ = 1, before_count_ = 1, after_count_ = 1;
  StridedLoop<1> before_, after_;
  Scratch<int64_t> offsets_;
  bool counts_from_end_;
};

}  // namespace fulgurite::FULGURITE_KERNELS
