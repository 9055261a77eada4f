// Products of matrices of 16-bit numbers, added up in f32, for CPUs with AVX-512 BF16:
//
//   result[i][j] = finish(sum over k of left[i][k] * right[j][k])
//
// k is the depth; each operand is a matrix of rows along it, at any strides, so that transposes cost nothing more. Both are packed
// first: rounded to bf16 where they are f32, zero where they end, and laid out in the order in which they are multiplied.
//
//   left   strips of 16 rows: each row's numbers of a slice of the depth side by side
//   right  panels of 48 rows: pairs of neighbours along the depth, row beside row
//
// A slice of a panel stays in the first cache while all strips of a block of left rows are multiplied by it. Each number of the result
// is one sum, in the order of the depth, whatever the blocks are. A matrix unit takes the same strips and panels, in tiles of 16 rows.
#pragma once
#include "codegen/vector_memory.h"
#include "codegen/vector_launch.h"

namespace fulgurite::FULGURITE_KERNELS {

#if defined(__AVX512F__)

inline constexpr int unit_rows = 16, unit_depth = 32, unit_pairs = 16;  // what is packed at a time
inline constexpr int tile_rows = 8, tile_vectors = 3;                   // 24 vectors of sums, 3 of the panel, 1 of the strip: of 32
inline constexpr int panel_rows = tile_vectors * lanes, packed_rows = 4 * panel_rows;
inline constexpr int slice_pairs = slice_depth / 2;

/// sums + the products of the first numbers of each pair of lanes + those of the second ones.
FULGURITE_INLINE void add_products(FloatPart& sums, IntPart left, IntPart right) {
  asm("vdpbf16ps %1, %2, %0" : "+v"(sums) : "v"(left), "v"(right));
}

// Sixteen neighbours as bf16.
typedef unsigned short HalfMemory __attribute__((vector_size(32), aligned(2), may_alias));
FULGURITE_INLINE HalfPart load_rounded(const BFloat16* from) { return *(const HalfMemory*)from; }
FULGURITE_INLINE HalfPart rounded(const Floats& x) {
  HalfPart result;
  asm("vcvtneps2bf16 %1, %0" : "=v"(result) : "v"(x.part[0]));
  return result;
}
FULGURITE_INLINE HalfPart load_rounded(const float* from) { return rounded(load(from)); }
FULGURITE_INLINE float to_float(BFloat16 x) { return __builtin_bit_cast(float, (unsigned)x.bits << 16); }
FULGURITE_INLINE float to_float(float x) { return x; }
/// Of sixteen rows the pairs of numbers at two neighbouring depths.
template <class Element>
FULGURITE_INLINE Ints load_pairs(const Element* first, const Element* second) {
  Ints result;
  result.part[0] = (IntPart)__builtin_shufflevector(load_rounded(first), load_rounded(second), 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7,
                                                    23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return result;
}
/// Thirty-two neighbours along the depth.
template <class Element>
FULGURITE_INLINE Ints load_depth(const Element* from) {
  Ints result;
  result.part[0] = (IntPart)__builtin_shufflevector(load_rounded(from), load_rounded(from + lanes), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
                                                    14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  return result;
}

// Lane l of vector v and lane v of vector l change places, one bit of the two numbers at a time.
template <int bit>
FULGURITE_INLINE void exchange(Ints& a, Ints& b) {
#define FULGURITE_KEPT(l) (l & bit ? 16 + l - bit : l)
#define FULGURITE_TAKEN(l) (l & bit ? 16 + l : l + bit)
#define FULGURITE_LANES(of) \
  of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8), of(9), of(10), of(11), of(12), of(13), of(14), of(15)
  const IntPart kept = __builtin_shufflevector(a.part[0], b.part[0], FULGURITE_LANES(FULGURITE_KEPT));
  b.part[0] = __builtin_shufflevector(a.part[0], b.part[0], FULGURITE_LANES(FULGURITE_TAKEN));
  a.part[0] = kept;
#undef FULGURITE_LANES
#undef FULGURITE_TAKEN
#undef FULGURITE_KEPT
}
template <int bit = 8>
FULGURITE_INLINE void transpose(Ints (&unit)[16]) {
  _Pragma("GCC unroll 16") for (int v = 0; v < 16; ++v) if ((v & bit) == 0) exchange<bit>(unit[v], unit[v + bit]);
  if constexpr (bit > 1) transpose<bit / 2>(unit);
}

// Whether neighbours in memory are of different rows; else they follow one another along the depth, if they lie side by side at all.
FULGURITE_INLINE bool lies_along_rows(const ProductOperand& operand) { return operand.row_stride == 1 && operand.depth_stride != 1; }

/// Sixteen rows by thirty-two of the depth, as rows of the depth or, where they lie along rows, as pairs of rows.
template <class Element>
FULGURITE_INLINE void load_unit(Ints (&unit)[16], const ProductOperand& operand, long row, long depth, long rows, long depths) {
  const long row_stride = operand.row_stride, depth_stride = operand.depth_stride;
  const Element* const from = (const Element*)operand.data + row * row_stride + depth * depth_stride;
  const bool is_whole = rows >= unit_rows && depths >= unit_depth;
  if (is_whole && depth_stride == 1) {
    for (int r = 0; r < unit_rows; ++r) {
      __builtin_prefetch(from + r * row_stride + 8 * unit_depth);
      unit[r] = load_depth(from + r * row_stride);
    }
  } else if (is_whole && row_stride == 1) {
    for (int p = 0; p < unit_pairs; ++p) {
      const Element *const first = from + 2 * p * depth_stride, *const second = first + depth_stride;
      __builtin_prefetch(first + unit_depth * depth_stride);
      __builtin_prefetch(second + unit_depth * depth_stride);
      unit[p] = load_pairs(first, second);
    }
  } else {  // the matrix ends here, or no neighbours lie side by side
    float numbers[unit_rows][unit_depth] = {};
    for (int r = 0; r < unit_rows && r < rows; ++r)
      for (int d = 0; d < unit_depth && d < depths; ++d) numbers[r][d] = to_float(from[r * row_stride + d * depth_stride]);
    for (int r = 0; r < unit_rows; ++r) unit[r] = load_depth(numbers[r]);
    if (lies_along_rows(operand)) transpose(unit);
  }
}

/// Gives put(strip, depth, unit) all units of some rows and depths, in an order in which each line of memory is read once.
template <class Element, class Put>
FULGURITE_INLINE void for_each_unit(const ProductOperand& operand, long row, long row_end, long depth, long depth_end, Put put) {
  const long strips = (row_end - row + unit_rows - 1) / unit_rows, steps = (depth_end - depth + unit_depth - 1) / unit_depth;
  const bool is_along_rows = lies_along_rows(operand);
  const long outer = is_along_rows ? steps : strips, inner = is_along_rows ? strips : steps;
  for (long o = 0; o < outer; ++o)
    for (long i = 0; i < inner; ++i) {
      const long strip = is_along_rows ? i : o, at = unit_depth * (is_along_rows ? o : i), first = row + strip * unit_rows;
      Ints unit[16];
      load_unit<Element>(unit, operand, first, depth + at, row_end - first, depth_end - depth - at);
      put(strip, at, unit);
    }
}

/// Packs parts of the right operand from `first` to before `last`: a slice of four panels each, slices outermost.
template <class Element>
FULGURITE_INLINE void pack_right(const ProductLaunch& launch, long first, long last) {
  const long parts_of_slice = (launch.right.rows + packed_rows - 1) / packed_rows;
  for (; first < last; ++first) {
    const long slice = first / parts_of_slice, row = first % parts_of_slice * packed_rows, depth = slice * launch.slice;
    const long end = launch.right.rows - row < packed_rows ? launch.right.rows : row + packed_rows;
    const long depth_end = launch.depth - depth < launch.slice ? launch.depth : depth + launch.slice;
    Ints* const packed = (Ints*)launch.right_panels + (row / panel_rows * launch.slices + slice) * slice_pairs * tile_vectors;
    for_each_unit<Element>(launch.right, row, end, depth, depth_end, [&](long strip, long at, Ints(&unit)[16]) {
      if (!lies_along_rows(launch.right)) transpose(unit);
      Ints* const to = packed + (strip / tile_vectors * launch.slices * slice_pairs + at / 2) * tile_vectors + strip % tile_vectors;
      for (int p = 0; p < unit_pairs; ++p) to[p * tile_vectors] = unit[p];
    });
  }
}

/// Packs the left rows of a block, all strips of a slice one after another.
template <class Element>
FULGURITE_INLINE void pack_left(const ProductLaunch& launch, long first_row, long last_row) {
  const long strips = (last_row - first_row + unit_rows - 1) / unit_rows;
  for_each_unit<Element>(launch.left, first_row, last_row, 0, launch.depth, [&](long strip, long depth, Ints(&unit)[16]) {
    if (lies_along_rows(launch.left)) transpose(unit);
    int* const to = (int*)launch.left_strips + (depth / launch.slice * strips + strip) * unit_rows * slice_pairs + depth % launch.slice / 2;
    for (int r = 0; r < unit_rows; ++r) store(to + r * slice_pairs, unit[r]);
  });
}

/// Sixteen neighbours in a row of the result, or what is left of it.
struct ResultPart {
  long row, column, count;
  /// The row in a matrix that is read or written here.
  template <class Element>
  __attribute__((always_inline)) Element* of(const ProductLaunch& launch, int matrix) const {
    return (Element*)(launch.matrices[matrix].data + row * launch.matrices[matrix].row_bytes);
  }
};
template <class Element>
FULGURITE_INLINE Floats load(const Element* row, const ResultPart& at) {
  return at.count >= lanes ? load(row + at.column) : load_some(row + at.column, at.count);
}
template <class Element>
FULGURITE_INLINE void store(Element* row, const ResultPart& at, const Floats& value) {
  if (at.count < lanes) return store_some(row + at.column, value, at.count);
  // Numbers too small to be normal become 0, as they are for the multiplication.
  if constexpr (sizeof(Element) == 2) *(HalfMemory*)(row + at.column) = rounded(value);
  else store(row + at.column, value);
}

/// Sums of one left row with up to three times sixteen rows of a panel: names, not an array, so that they stay in registers.
template <int vectors>
struct RowSums {
  FloatPart a, b, c;
  __attribute__((always_inline)) explicit RowSums(const Floats* from) : a(from[0].part[0]), b(from[1].part[0]), c(from[2].part[0]) {}
  __attribute__((always_inline)) void add(int pair, IntPart of_a, IntPart of_b, IntPart of_c) {
    const IntPart of_row = IntPart{} + pair;
    add_products(a, of_row, of_a);
    if constexpr (vectors > 1) add_products(b, of_row, of_b);
    if constexpr (vectors > 2) add_products(c, of_row, of_c);
  }
  __attribute__((always_inline)) void store(Floats* to) const { to[0].part[0] = a, to[1].part[0] = b, to[2].part[0] = c; }
};

/// Adds a slice of eight left rows times some of a panel's rows to the sums, which are in memory before and after, unrounded.
template <int vectors>
FULGURITE_INLINE void multiply_tile(Floats* sums, const int* left, const Ints* right, long pairs) {
#define FULGURITE_EACH_ROW(of) of(0) of(1) of(2) of(3) of(4) of(5) of(6) of(7)
#define FULGURITE_ROW_BEGIN(r) RowSums<vectors> row##r(sums + r * tile_vectors);
#define FULGURITE_ROW_ADD(r) row##r.add(left[r * slice_pairs], a, b, c);
#define FULGURITE_ROW_END(r) row##r.store(sums + r * tile_vectors);
  FULGURITE_EACH_ROW(FULGURITE_ROW_BEGIN)
  for (const int* const end = left + pairs; left < end; ++left, right += tile_vectors) {
    const IntPart a = right[0].part[0], b = right[1].part[0], c = right[2].part[0];
    FULGURITE_EACH_ROW(FULGURITE_ROW_ADD)
  }
  FULGURITE_EACH_ROW(FULGURITE_ROW_END)
}

/// Asks for the memory of a tile's results, so that it has come when they are written.
FULGURITE_INLINE void fetch_result(const ProductLaunch& launch, long row, long column, long rows) {
  const char* at = launch.matrices[0].data + row * launch.matrices[0].row_bytes + column * launch.result_bytes;
  for (int r = 0; r < tile_rows && r < rows; ++r, at += launch.matrices[0].row_bytes)
    for (long byte = 0; byte < panel_rows * launch.result_bytes; byte += 64) __builtin_prefetch(at + byte, 1);
}

/// Computes blocks of the result, numbered row by row of blocks, from `first` to before `last`: finish(sums, place) gets each sixteen
/// sums that are complete.
template <class Element, class Finish>
FULGURITE_INLINE void multiply_blocks(const ProductLaunch& launch, long first, long last, Finish finish) {
  const long panels = (launch.right.rows + panel_rows - 1) / panel_rows;
  for (long packed_row = -1; first < last; ++first) {
    const long row = first / launch.column_blocks * launch.block_rows, first_panel = first % launch.column_blocks * launch.block_panels;
    const long last_row = launch.left.rows - row < launch.block_rows ? launch.left.rows : row + launch.block_rows;
    const long last_panel = panels - first_panel < launch.block_panels ? panels : first_panel + launch.block_panels;
    const long strips = (last_row - row + unit_rows - 1) / unit_rows;
    if (row != packed_row) pack_left<Element>(launch, row, last_row);
    packed_row = row;
    const long tile_sums = launch.sums_are_kept || launch.slices > 1 ? tile_rows * tile_vectors : 0;  // else each tile is done at once
    for (long slice = 0; slice < launch.slices; ++slice) {
      const long depth = launch.depth - slice * launch.slice, pairs = ((depth < launch.slice ? depth : launch.slice) + 1) / 2;
      const bool begins = slice == 0 && launch.begins, ends = slice + 1 == launch.slices && launch.ends;
      Floats* sums = (Floats*)(launch.sums + (launch.sums_are_kept ? first * launch.block_rows * launch.block_panels * panel_rows * 4 : 0));
      for (long panel = first_panel; panel < last_panel; ++panel) {
        const Ints* const right = (const Ints*)launch.right_panels + (panel * launch.slices + slice) * slice_pairs * tile_vectors;
        const int* left = (const int*)launch.left_strips + slice * strips * unit_rows * slice_pairs;
        const long column = panel * panel_rows, columns = launch.right.rows - column;
        for (long r = row; r < last_row; r += tile_rows, left += tile_rows * slice_pairs, sums += tile_sums) {
          if (ends) fetch_result(launch, r, column, last_row - r);
          for (int i = 0; begins && i < tile_rows * tile_vectors; ++i) sums[i] = Floats(0.f);
          if (columns > 2 * lanes) multiply_tile<3>(sums, left, right, pairs);
          else if (columns > lanes) multiply_tile<2>(sums, left, right, pairs);
          else multiply_tile<1>(sums, left, right, pairs);
          if (!ends) continue;
          for (int t = 0; t < tile_rows && r + t < last_row; ++t)
            for (int v = 0; v < tile_vectors && v * lanes < columns; ++v)
              finish(sums[t * tile_vectors + v], ResultPart{r + t, column + v * lanes, columns - v * lanes});
        }
      }
    }
  }
}

#endif

}  // namespace fulgurite::FULGURITE_KERNELS
