// Copies between tensors of any strides and dtypes, and the operators that are copies.
#include <algorithm>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/elements.h"
#include "executors/eager/kernels/common/strided.h"
#include "executors/eager/kernels/common/transpose.h"
#include "executors/eager/kernels/elementwise/pointwise.h"
#include "ops/generated/symbols.h"
#include "ops/structural/custom_function_symbols.h"
#include "runtime/threads/parallel_for.h"
#include "support/base/unlocated_error.h"
#include "tensor/pending.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t grain = 32768;
constexpr int to_index = 0, from_index = 1;  // in the loops below

struct Side {
  char* data;
  Dtype dtype;
};

void copy_linear(const Side& from, const Side& to, int64_t count) {
  const Convert convert = find_conversion(from.dtype, to.dtype);
  const int64_t from_item = size_of(from.dtype), to_item = size_of(to.dtype);
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    convert(from.data + begin * from_item, 1, to.data + begin * to_item, end - begin);
  });
}

/// Orders the dimensions so that the destination is written in the order of its memory.
void sort_by_destination(StridedLoop<2>& loop) {
  const size_t n = loop.sizes.size();
  for (size_t i = 1; i < n; ++i)
    for (size_t d = i; d > 0; --d) {
      const int64_t outer = loop.strides[to_index][d - 1], inner = loop.strides[to_index][d];
      if ((outer < 0 ? -outer : outer) >= (inner < 0 ? -inner : inner)) break;
      std::swap(loop.sizes[d - 1], loop.sizes[d]);
      for (Sizes& strides : loop.strides) std::swap(strides[d - 1], strides[d]);
    }
}

template <class T>
void store_strided(const char* from, char* to, int64_t stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * stride * sizeof(T), from + i * sizeof(T), sizeof(T));
}
void scatter(const char* from, int64_t item, char* to, int64_t stride, int64_t count) {
  switch (item) {
    case 1: return store_strided<uint8_t>(from, to, stride, count);
    case 2: return store_strided<uint16_t>(from, to, stride, count);
    case 4: return store_strided<uint32_t>(from, to, stride, count);
    default: return store_strided<uint64_t>(from, to, stride, count);
  }
}

void copy_rows(const StridedLoop<2>& loop, const Side& from, const Side& to) {
  const Convert convert = find_conversion(from.dtype, to.dtype);
  const int64_t from_item = size_of(from.dtype), to_item = size_of(to.dtype);
  const int64_t length = loop.row_length(), from_stride = loop.strides[from_index].back(),
                to_stride = loop.strides[to_index].back();
  // Long rows are divided into chunks, so that few of them still occupy all threads.
  constexpr int64_t chunk = 1024;
  const int64_t chunks = (length + chunk - 1) / chunk;
  parallel_for(loop.row_count() * chunks, std::max<int64_t>(1, grain / std::min(length, chunk)),
               [&](int64_t begin, int64_t end) {
                 alignas(64) char buffer[chunk * 8];
                 RowPosition<2> position(loop, begin / chunks);
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t at = task % chunks * chunk, count = std::min(chunk, length - at);
                   const char* source = from.data + (position.offsets[from_index] + at * from_stride) * from_item;
                   char* destination = to.data + (position.offsets[to_index] + at * to_stride) * to_item;
                   if (to_stride == 1) {
                     convert(source, from_stride, destination, count);
                   } else {
                     convert(source, from_stride, buffer, count);
                     scatter(buffer, to_item, destination, to_stride, count);
                   }
                   if ((task + 1) % chunks == 0) position.advance();
                 }
               });
}

/// The source is contiguous along dimension `across`, the destination along the last one.
template <class T>
void copy_transposed(const StridedLoop<2>& loop, size_t across, const Side& from, const Side& to) {
  const size_t last = loop.sizes.size() - 1;
  const int64_t rows = loop.sizes[last], columns = loop.sizes[across];
  const int64_t from_step = loop.strides[from_index][last], to_step = loop.strides[to_index][across];
  StridedLoop<2> outer;
  for (size_t d = 0; d < last; ++d) {
    if (d == across) continue;
    outer.sizes.push_back(loop.sizes[d]);
    for (int k = 0; k < 2; ++k) outer.strides[k].push_back(loop.strides[k][d]);
  }
  // Chunks are a few lines of the destination high, so that few pages are open at a time; threads share them.
  constexpr int64_t height = 256, width = 64;
  const int64_t high = (rows + height - 1) / height, wide = (columns + width - 1) / width, chunks = high * wide;
  outer.sizes.push_back(1);
  for (Sizes& strides : outer.strides) strides.push_back(1);
  parallel_for(outer.row_count() * chunks, std::max<int64_t>(1, grain / (height * width)),
               [&](int64_t begin, int64_t end) {
                 RowPosition<2> position(outer, begin / chunks);
                 for (int64_t task = begin; task < end; ++task) {
                   const int64_t row = task % chunks / wide * height, column = task % chunks % wide * width;
                   const T* source = reinterpret_cast<const T*>(from.data) + position.offsets[from_index];
                   T* destination = reinterpret_cast<T*>(to.data) + position.offsets[to_index];
                   transpose(source + row * from_step + column, from_step, destination + column * to_step + row,
                             to_step, std::min(height, rows - row), std::min(width, columns - column));
                   if ((task + 1) % chunks == 0) position.advance();
                 }
               });
}

void copy_transposed(const StridedLoop<2>& loop, size_t across, const Side& from, const Side& to) {
  switch (size_of(from.dtype)) {
    case 1: return copy_transposed<uint8_t>(loop, across, from, to);
    case 2: return copy_transposed<uint16_t>(loop, across, from, to);
    case 4: return copy_transposed<uint32_t>(loop, across, from, to);
    default: return copy_transposed<uint64_t>(loop, across, from, to);
  }
}

void copy_loop(StridedLoop<2>& loop, const Side& from, const Side& to) {
  sort_by_destination(loop);
  loop.merge_dimensions();
  const size_t last = loop.sizes.size() - 1;
  if (last == 0 && loop.strides[0][0] == 1 && loop.strides[1][0] == 1) return copy_linear(from, to, loop.sizes[0]);
  if (from.dtype == to.dtype && loop.strides[to_index][last] == 1 && loop.strides[from_index][last] != 1)
    for (size_t d = 0; d < last; ++d)
      if (loop.strides[from_index][d] == 1 && loop.sizes[d] >= 4 && loop.sizes[last] >= 4)
        return copy_transposed(loop, d, from, to);
  copy_rows(loop, from, to);
}

struct Extent {
  const char *begin, *end;
};
Extent memory_of(const TensorImpl& tensor) {
  int64_t low = 0, high = 1;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    const int64_t reach = (tensor.sizes[d] - 1) * tensor.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t item = size_of(tensor.dtype);
  return {tensor.data() + low * item, tensor.data() + high * item};
}

/// Copies the elements in row-major order, whatever the sizes of the result.
void copy_in_order(const Tensor& source, const Tensor& result) {
  const TensorImpl &from = *source.impl(), &to = *result.impl();
  const int64_t count = to.numel();
  if (count == 0) return;
  const Side from_side{from.data(), from.dtype}, to_side{to.data(), to.dtype};
  if (from.is_contiguous) return copy_linear(from_side, to_side, count);
  StridedLoop<2> loop{from.sizes, {contiguous_strides(from.sizes), from.strides}};
  copy_loop(loop, from_side, to_side);
}

void copy(Arguments arguments, std::span<const Tensor> results) { copy_in_order(arguments[0].tensor(), results[0]); }

/// The result stands for the destination; if it has memory of its own, that is written too.
void write(Arguments arguments, std::span<const Tensor> results) {
  fulgurite::FULGURITE_KERNELS::copy_elements(arguments[0].tensor(), arguments[1].tensor());
  if (!results.empty() && results[0].defined() && results[0].impl()->data() != arguments[1].tensor().impl()->data())
    fulgurite::FULGURITE_KERNELS::copy_elements(arguments[0].tensor(), results[0]);
}

template <class T>
void same_row(const void* const* operands, void* result, int64_t count, const RowParameters&) {
  std::memcpy(result, operands[0], static_cast<size_t>(count) * sizeof(T));
}
void convert_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Dtype from = arguments[0].tensor().impl()->dtype;
  if (from == results[0].impl()->dtype && !is_pending(*results[0].impl())) return copy(arguments, results);
  const Row rows[] = {same_row<uint8_t>, same_row<uint16_t>, same_row<uint32_t>, same_row<uint64_t>};
  const int64_t item = size_of(from);
  const Row row = rows[item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3];
  run_pointwise({row, {from}, from}, {&arguments[0]}, results[0]);
}

// Reports a request for a gradient that does not exist.
void refuse(Arguments arguments, std::span<const Tensor>) { throw UnlocatedError(std::string(arguments[1].string())); }

constexpr KernelEntry conversion_table[] = {{&prims_convert_element_type_symbol, convert_kernel}};
constexpr KernelEntry table[] = {
    {&prims_copy__symbol, write},        {&clone_symbol, copy}, {&contiguous_symbol, copy}, {&reshape_symbol, copy},
    {&prims_no_gradient_symbol, refuse},
};

}  // namespace

void copy_elements(const Tensor& source, const Tensor& destination) {
  const TensorImpl &from = *source.impl(), &to = *destination.impl();
  const int64_t count = to.numel();
  if (count == 0) return;
  if (from.storage == to.storage) {
    const Extent a = memory_of(from), b = memory_of(to);
    if (a.begin < b.end && b.begin < a.end) {
      if (from.data() == to.data() && from.dtype == to.dtype && from.sizes == to.sizes && from.strides == to.strides)
        return;
      const Tensor copied = make_tensor(from.sizes, from.dtype);
      copy_in_order(source, copied);
      return copy_elements(copied, destination);
    }
  }
  const Side from_side{from.data(), from.dtype}, to_side{to.data(), to.dtype};
  if (from.is_contiguous && to.is_contiguous && from.sizes == to.sizes) return copy_linear(from_side, to_side, count);
  StridedLoop<2> loop{to.sizes, {to.strides, broadcast_strides(from, to.sizes)}};
  copy_loop(loop, from_side, to_side);
}

void transpose_matrix(const uint32_t* from, int64_t from_step, uint32_t* to, int64_t to_step, int64_t rows,
                      int64_t columns) {
  transpose(from, from_step, to, to_step, rows, columns);
}

KernelTable conversion_kernels() { return conversion_table; }
KernelTable copy_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
