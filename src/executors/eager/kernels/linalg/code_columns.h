#pragma once
#include <algorithm>

#include "executors/eager/gemm_block.h"
#include "executors/eager/kernels/linalg/few_rows.h"
#include "executors/eager/kernels/linalg/finish.h"

// Weights of few bits (prims::dequantize) as the columns of products of few rows: each group of 32 codes is dequantized
// into vectors when it is multiplied. The numbers, and the order of their sums, are those of a dequantized matrix.
namespace fulgurite::FULGURITE_KERNELS {

/// Loads sixteen bytes, sign-extended.
FULGURITE_INLINE Ints load_signed_bytes(const unsigned char* from) {
  Ints result;
#if defined(__AVX2__)
  typedef unsigned char Part __attribute__((vector_size(part_bytes / 4), aligned(1), may_alias));
  FULGURITE_EACH_PART(asm("vpmovsxbd %1, %0" : "=v"(result.part[p]) : "m"(*(const Part*)(from + p * part_lanes))));
#else
  result = shift_right_signed(shift_left(load_bytes(from), 24), 24);
#endif
  return result;
}

/// The codes that a group has: bytes, or halves of bytes, which may have a minimum.
enum class CodeKind { bytes, halves, halves_with_minimum };

/// A group of 32 codes; half(0) are the first sixteen numbers, half(1) the others.
template <CodeKind kind>
struct CodeGroup {
  [[gnu::always_inline]] CodeGroup(const unsigned char* codes, float scale, float) : codes(codes), scale(scale) {}
  template <int number>
  [[gnu::always_inline]] Floats half(std::integral_constant<int, number>) const {
    return to_floats(load_signed_bytes(codes + number * lanes)) * scale;
  }
  const unsigned char* codes;
  Floats scale;
};

alignas(64) inline constexpr float small_integers[24] = {-8, -7, -6, -5, -4, -3, -2, -1, 0,  1,  2,  3,
                                                         4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15};

template <CodeKind kind>
requires(kind != CodeKind::bytes) struct CodeGroup<kind> {
  static constexpr bool has_minimum = kind == CodeKind::halves_with_minimum;
#if defined(__AVX512F__)
  // A table of the sixteen numbers, whose index is in the lowest four bits.
  [[gnu::always_inline]] CodeGroup(const unsigned char* codes, float scale, float minimum)
      : bytes(load_bytes(codes)), table(load(small_integers + (has_minimum ? 8 : 0)) * Floats(scale)) {
    if constexpr (has_minimum) table = table + Floats(minimum);
  }
  template <int number>
  [[gnu::always_inline]] Floats half(std::integral_constant<int, number>) const {
    const Ints index = number == 0 ? bytes : shift_right(bytes, 4);
    Floats result;
    asm("vpermps %2, %1, %0" : "=v"(result.part[0]) : "v"(index.part[0]), "v"(table.part[0]));
    return result;
  }
  Ints bytes;
  Floats table;
#else
  [[gnu::always_inline]] CodeGroup(const unsigned char* codes, float scale, float minimum)
      : bytes(load_bytes(codes)), scale(scale), minimum(minimum) {}
  template <int number>
  [[gnu::always_inline]] Floats half(std::integral_constant<int, number>) const {
    const Floats code = to_floats(number == 0 ? bytes & Ints(15) : shift_right(bytes, 4));
    if constexpr (has_minimum) return code * scale + minimum;
    else return (code - Floats(8.f)) * scale;
  }
  Ints bytes;
  Floats scale, minimum;
#endif
};

/// Loads sixteen scales.
template <class Element>
FULGURITE_INLINE Floats load_scales(const Element* from) {
#if defined(__F16C__)
  if constexpr (std::is_same_v<Element, Float16>) {
    typedef unsigned short Part __attribute__((vector_size(part_bytes / 2), aligned(2), may_alias));
    Floats result;
    FULGURITE_EACH_PART(asm("vcvtph2ps %1, %0"
                            : "=v"(result.part[p])
                            : "m"(*(const Part*)(&from->bits + p * part_lanes))));
    return result;
  }
#endif
  return load(from);
}

/// to[i] = from[i], as f32. Prefetches as many numbers after them.
inline void widen_scales(const void* from, Dtype dtype, int64_t offset, int64_t count, float* to) {
  visit_floating(dtype, [&]<class Element>() {
    const Element* const first = static_cast<const Element*>(from) + offset;
    int64_t i = 0;
    if constexpr (!std::is_same_v<Element, double>)
      for (; i + lanes <= count; i += lanes) {
        __builtin_prefetch(first + count + i, 0, 2);
        store(to + i, load_scales(first + i));
      }
    for (; i < count; ++i) to[i] = static_cast<float>(widen(first[i]));
  });
}

/// The rows of a matrix of codes as the columns of B, with the interface of PlainColumns.
template <CodeKind kind>
struct CodeColumns {
  static constexpr bool has_minima = kind == CodeKind::halves_with_minimum;
  static constexpr int bits_of_byte = kind == CodeKind::bytes ? 0 : 1;  // codes of a byte, as a power of two

  const CodeMatrix* matrix;
  int64_t first_row;
  float* buffer;  // for the scales and minima of a block of columns
  int64_t row_bytes = matrix->row_bytes(), groups = matrix->groups();
  const unsigned char* codes = nullptr;
  const float* scales = nullptr;
  const float* minima = nullptr;

  /// Floats that `buffer` needs.
  static int64_t buffer_size(const CodeMatrix& matrix) {
    return columns_together * matrix.groups() * (has_minima ? 2 : 1);
  }

  template <class Products>
  static constexpr int64_t unit = CodeMatrix::group;
  template <class Products>
  struct Unit {
    CodeGroup<kind> group;
    template <int number>
    [[gnu::always_inline]] typename Products::Vector vector(std::integral_constant<int, number> which) const {
      return Products::vector_of(group, which);
    }
  };
  template <class Products>
  [[gnu::always_inline]] Unit<Products> unit_at(int64_t column, int64_t i) const {
    const int64_t at = column * groups + (i >> 5);
    return {CodeGroup<kind>(of_column(i >> bits_of_byte, column), scales[at], has_minima ? minima[at] : 0)};
  }
  template <class Products>
  [[gnu::always_inline]] typename Products::Vector load_first(int64_t, int64_t, int64_t) const {
    return typename Products::Vector(0);  // rows are whole groups
  }
  [[gnu::always_inline]] void prefetch(int64_t column, int64_t i) const {
    // A line has several groups.
    constexpr int64_t others = 64 - (CodeMatrix::group >> bits_of_byte);
    const int64_t at = i >> bits_of_byte;
    if ((at & others) == 0) __builtin_prefetch(of_column(at, column), 0, 2);
  }
  // In the form of the CPU's addresses: a base and one, two or three rows.
  [[gnu::always_inline]] const unsigned char* of_column(int64_t at, int64_t column) const {
    return codes + at + column / 4 * (4 * row_bytes) + column % 4 * row_bytes;
  }
  CodeColumns along(int64_t begin) const {
    CodeColumns out = *this;
    out.codes += begin >> bits_of_byte;
    out.scales += begin / CodeMatrix::group;
    if (has_minima) out.minima += begin / CodeMatrix::group;
    return out;
  }
  CodeColumns from_column(int64_t column) const {
    CodeColumns out = *this;
    out.codes += column * row_bytes;
    out.scales += column * groups;
    if (has_minima) out.minima += column * groups;
    return out;
  }
  CodeColumns block(int64_t column, int64_t count) const {
    const int64_t row = first_row + column;
    CodeColumns out = *this;
    out.codes = static_cast<const unsigned char*>(matrix->codes) + row * row_bytes;
    out.scales = buffer;
    widen_scales(matrix->scales, matrix->scale_dtype, row * groups, count * groups, buffer);
    if (!has_minima) return out;
    out.minima = buffer + columns_together * groups;
    widen_scales(matrix->minima, matrix->scale_dtype, row * groups, count * groups, buffer + columns_together * groups);
    return out;
  }
};

/// Calls f with the kind of the codes, an integral constant.
template <class F>
void visit_codes(const CodeMatrix& matrix, const F& f) {
  if (!matrix.is_packed) f(std::integral_constant<CodeKind, CodeKind::bytes>());
  else if (matrix.minima == nullptr) f(std::integral_constant<CodeKind, CodeKind::halves>());
  else f(std::integral_constant<CodeKind, CodeKind::halves_with_minimum>());
}

/// Computes a block of few rows with codes.
template <class Products, class Element, class PackedProducts = Products>
void multiply_code_rows(const GemmBlock& p) {
  const Typed<Element> t = typed<Element>(p);
  visit_codes(*p.codes, [&]<CodeKind kind>(std::integral_constant<CodeKind, kind>) {
    using Columns = CodeColumns<kind>;
    const Scratch<float> buffer(Columns::buffer_size(*p.codes));
    const Columns columns{p.codes, p.first_code_row, buffer.data()};
    multiply_few_rows<Products, PackedProducts>(
        RowsToMultiply<Element, Columns>{t.a, p.a_row, columns, p.k, p.prefetches}, p.m, p.n,
        [&](int64_t r, int64_t c, const float* sums, int64_t count) { finish_run(p, t, r, c, sums, count); });
  });
}

}  // namespace fulgurite::FULGURITE_KERNELS
