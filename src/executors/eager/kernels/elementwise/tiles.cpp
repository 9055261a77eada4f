#include "executors/eager/kernels/elementwise/tiles.h"

#include <algorithm>

#include "executors/eager/kernels/common/compute.h"
#include "executors/eager/kernels/common/strided.h"
#include "executors/eager/kernels/common/transpose.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t tile_width = 128, tile_height = 64;  // elements of a row of a tile, and rows
constexpr int64_t tile_elements = tile_width * tile_height;
constexpr int64_t min_transposed_size = 16;
constexpr int result_index = max_operands;  // among the strides

void transpose_bytes(int64_t item, const char* from, int64_t from_step, char* to, int64_t to_step, int64_t rows,
                     int64_t columns) {
  const auto turn = [&]<class T>(T) {
    transpose(reinterpret_cast<const T*>(from), from_step, reinterpret_cast<T*>(to), to_step, rows, columns);
  };
  if (item == 4) turn(uint32_t());
  else if (item == 2) turn(uint16_t());
  else if (item == 8) turn(uint64_t());
  else turn(uint8_t());
}

class Tiles {
 public:
  Tiles(const Pointwise& operation, const RowParameters& parameters) : operation_(operation), parameters_(parameters) {}

  bool lay_out(std::initializer_list<const Argument*> operands, const Tensor& result) {
    const TensorImpl& target = *result.impl();
    for (Sizes& strides : places_.strides) strides = target.strides;
    places_.sizes = target.sizes;
    for (const Argument* operand : operands) add(*operand, target);
    places_.merge_dimensions();
    result_ = target.data();
    result_item_ = size_of(target.dtype);
    if (target.dtype != operation_.result_dtype)
      convert_result_ = find_conversion(operation_.result_dtype, target.dtype);
    return choose_dimensions();
  }

  void run() const {
    const int64_t across_tiles = tiles_of(across_, tile_width), down_tiles = tiles_of(down_, tile_height);
    const int64_t tiles = across_tiles * down_tiles, grain = std::max<int64_t>(1, operation_.grain / tile_elements);
    parallel_for(outer_.row_count() * tiles, grain, [&](int64_t begin, int64_t end) {
      const Scratch<char> buffers((max_operands + 2) * tile_elements * 8);
      fill_constants(buffers.data());
      RowPosition<max_operands + 1> position(outer_, begin / tiles);
      for (int64_t task = begin; task < end; ++task) {
        // Tiles are numbered along the dimension that transposed operands are contiguous in first.
        const int64_t tile = task % tiles;
        const int64_t x = is_turned_ ? tile % across_tiles : tile / down_tiles;
        const int64_t y = is_turned_ ? tile / across_tiles : tile % down_tiles;
        compute(position.offsets, x * tile_width, y * tile_height, buffers.data());
        if (tile == tiles - 1) position.advance();
      }
    });
  }

 private:
  struct Source {
    const char* data = nullptr;
    int64_t item = 0, read_item = 0;
    Convert convert = nullptr;
    bool is_direct = false, is_constant = false;
    bool is_transposed = false;  // contiguous along the columns of a tile
    alignas(8) char number[8];
  };

  void add(const Argument& operand, const TensorImpl& target) {
    Source& source = sources_[count_];
    const Dtype read = operation_.operand_dtypes[count_];
    source.read_item = source.item = size_of(read);
    if (!operand.is_tensor()) {
      write_number(operand, read, source.number);
      source.data = source.number;
      source.is_constant = true;
      source.convert = find_conversion(read, read);
    } else {
      const TensorImpl& tensor = *operand.tensor().impl();
      source.data = tensor.data();
      source.item = size_of(tensor.dtype);
      source.is_direct = tensor.dtype == read;
      source.is_constant = tensor.numel() == 1;
      source.convert = find_conversion(tensor.dtype, read);
      if (!source.is_constant) places_.strides[count_] = broadcast_strides(tensor, target.sizes);
    }
    ++count_;
  }

  bool choose_dimensions() {
    const size_t last = places_.sizes.size() - 1;
    if (last == 0 || places_.sizes[last] < min_transposed_size) return false;
    size_t other = last;
    for (int k = 0; k < count_ && other == last; ++k)
      for (size_t d = 0; d < last && !sources_[k].is_constant; ++d)
        if (places_.strides[k][d] == 1 && places_.strides[k][last] != 0 && places_.sizes[d] >= min_transposed_size)
          other = d;
    if (other == last) return false;
    int turned = 0, straight = 0;
    for (int k = 0; k < count_; ++k) {
      if (sources_[k].is_constant) continue;
      if (places_.strides[k][other] == 1 && places_.strides[k][last] != 0) ++turned;
      else if (places_.strides[k][last] == 1 && places_.strides[k][other] != 0) ++straight;
    }
    // The result counts as another straight tensor.
    is_turned_ = turned > straight + 1 || (turned == straight + 1 && result_item_ > 1);
    across_ = is_turned_ ? other : last;
    down_ = is_turned_ ? last : other;
    for (int k = 0; k < count_; ++k)
      sources_[k].is_transposed = !sources_[k].is_constant && places_.strides[k][down_] == 1 &&
                                  places_.strides[k][across_] != 0 && places_.strides[k][across_] != 1;
    for (size_t d = 0; d <= last; ++d) {
      if (d == across_ || d == down_) continue;
      outer_.sizes.push_back(places_.sizes[d]);
      for (int k = 0; k <= max_operands; ++k) outer_.strides[k].push_back(places_.strides[k][d]);
    }
    outer_.sizes.push_back(1);
    for (Sizes& strides : outer_.strides) strides.push_back(1);
    return true;
  }
  int64_t tiles_of(size_t dim, int64_t size) const { return (places_.sizes[dim] + size - 1) / size; }

  static char* buffer(char* buffers, int which) { return buffers + which * tile_elements * 8; }
  void fill_constants(char* buffers) const {
    for (int k = 0; k < count_; ++k)
      if (sources_[k].is_constant) sources_[k].convert(sources_[k].data, 0, buffer(buffers, k), tile_width);
  }

  /// Computes the tile from element x of dimension `across`, y of `down`.
  void compute(const int64_t* offsets, int64_t x, int64_t y, char* buffers) const {
    const int64_t width = std::min(tile_width, places_.sizes[across_] - x),
                  height = std::min(tile_height, places_.sizes[down_] - y);
    const char* first[max_operands];
    for (int k = 0; k < count_; ++k) {
      const Source& source = sources_[k];
      if (source.is_constant) continue;
      const int64_t across = places_.strides[k][across_], down = places_.strides[k][down_];
      first[k] = source.data + (offsets[k] + x * across + y * down) * source.item;
      if (source.is_transposed)
        transpose_bytes(source.item, first[k], across, buffer(buffers, k), tile_width, width, height);
    }
    const int64_t across = places_.strides[result_index][across_], down = places_.strides[result_index][down_];
    char* const to = result_ + (offsets[result_index] + x * across + y * down) * result_item_;
    char* const turned = buffer(buffers, max_operands);
    for (int64_t row = 0; row < height; ++row) {
      const void* operands[max_operands];
      char row_buffers[max_operands][tile_width * 8];
      for (int k = 0; k < count_; ++k) operands[k] = operand_row(k, first, row, width, buffers, row_buffers[k]);
      char* const out = is_turned_ ? turned + row * tile_width * result_item_ : to + row * down * result_item_;
      if (!convert_result_) {
        operation_.row(operands, out, width, parameters_);
      } else {
        char* const computed = buffer(buffers, max_operands + 1);
        operation_.row(operands, computed, width, parameters_);
        convert_result_(computed, 1, out, width);
      }
    }
    if (is_turned_) transpose_bytes(result_item_, turned, tile_width, to, across, height, width);
  }
  const void* operand_row(int k, const char* const* first, int64_t row, int64_t width, char* buffers, char* own) const {
    const Source& source = sources_[k];
    if (source.is_constant) return buffer(buffers, k);
    if (source.is_transposed) {
      const char* const from = buffer(buffers, k) + row * tile_width * source.item;
      if (source.is_direct) return from;
      source.convert(from, 1, own, width);
      return own;
    }
    const char* const from = first[k] + row * places_.strides[k][down_] * source.item;
    const int64_t stride = places_.strides[k][across_];
    // Software prefetch of the next tile: rows are too short for the hardware prefetcher.
    if (stride == 1)
      for (int64_t i = 0; i < width * source.item; i += 64) __builtin_prefetch(from + width * source.item + i);
    if (stride == 1 && source.is_direct) return from;
    source.convert(from, stride, own, width);
    return own;
  }

  const Pointwise& operation_;
  const RowParameters& parameters_;
  Source sources_[max_operands];
  int count_ = 0;
  StridedLoop<max_operands + 1> places_, outer_;
  size_t across_ = 0, down_ = 0;  // the dimensions of a tile's rows and columns
  bool is_turned_ = false;        // the result is contiguous along the columns
  char* result_ = nullptr;
  int64_t result_item_ = 0;
  Convert convert_result_ = nullptr;
};

}  // namespace

bool run_in_tiles(const Pointwise& operation, std::initializer_list<const Argument*> operands, const Tensor& result,
                  const RowParameters& parameters) {
  Tiles tiles(operation, parameters);
  if (!tiles.lay_out(operands, result)) return false;
  tiles.run();
  return true;
}

}  // namespace fulgurite::FULGURITE_KERNELS
