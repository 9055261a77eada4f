#include <algorithm>

#include "codegen/gemm/cpu.h"
#include "executors/eager/gemm_block.h"
#include "executors/eager/kernels/linalg/few_rows.h"
#include "executors/eager/kernels/linalg/finish.h"
#include "executors/eager/kernels/linalg/pack.h"

// One block of a GEMM for every dtype, and matrix-vector products: the cases that the library does not support.
namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t max_rows = 192, max_columns = 128, max_depth = 384;
// Blocks of depth that are added one after another; sums of more are halved, so that they are as accurate as sums().
constexpr int64_t sequential_depth = 4 * max_depth;

// A part of a product that fits the caches, and the memory it is packed into.
template <class Element>
struct CachedPart {
  using T = Compute<Element>;
  const GemmBlock& product;
  int64_t row, row_count, column, column_count;
  int64_t columns;  // of a row of sums
  T* packed_a;
  T* packed_b;

  int64_t sum_count() const { return row_count * columns; }
};

template <class Element>
void multiply_depth(const CachedPart<Element>& part, int64_t k, int64_t count, Compute<Element>* sums,
                    bool accumulate) {
  using T = Compute<Element>;
  const GemmBlock& p = part.product;
  const Typed<Element> t = typed<Element>(p);
  pack_panels(t.b + k * p.b_row + part.column * p.b_column, p.b_row, p.b_column, count, part.column_count,
              part.packed_b);
  const Element* a = t.a + part.row * p.a_row + k * p.a_column;
  const PanelOperand<T> panels{part.packed_b, panel_columns<T>, panel_columns<T> * count};
  // A's own rows are used if they are contiguous in the type computed in.
  if constexpr (std::is_same_v<T, Element>) {
    if (p.a_column == 1)
      return multiply_rows<T, false>(part.row_count, part.column_count, count, a, p.a_row, panels, sums, part.columns,
                                     accumulate);
    if (p.a_row == 1)
      return multiply_rows<T, true>(part.row_count, part.column_count, count, a, p.a_column, panels, sums, part.columns,
                                    accumulate);
  }
  for (int64_t r = 0; r < part.row_count; ++r)
    widen_row(a + r * p.a_row, p.a_column, count, part.packed_a + r * count, count);
  multiply_rows<T, false>(part.row_count, part.column_count, count, part.packed_a, count, panels, sums, part.columns,
                          accumulate);
}

// sums = A[:, begin:end] · B[begin:end, :].
template <class Element>
void sum_depth(const CachedPart<Element>& part, int64_t begin, int64_t end, Compute<Element>* sums) {
  if (end - begin > sequential_depth) {
    const int64_t middle = begin + first_half(end - begin, max_depth);
    const Scratch<Compute<Element>> others(part.sum_count());
    sum_depth(part, begin, middle, sums);
    sum_depth(part, middle, end, others.data());
    for (int64_t i = 0; i < part.sum_count(); ++i) sums[i] += others[i];
    return;
  }
  if (begin == end) std::fill_n(sums, part.sum_count(), Compute<Element>(0));
  for (int64_t k = begin; k < end; k += max_depth)
    multiply_depth(part, k, std::min(max_depth, end - k), sums, k > begin);
}

template <class Element>
void multiply_floating(const GemmBlock& p) {
  using T = Compute<Element>;
  const Typed<Element> t = typed<Element>(p);
  const int64_t rows = std::min(p.m, max_rows), depth = std::min(p.k, max_depth);
  const int64_t columns = panel_padded<T>(std::min(p.n, max_columns));
  const Scratch<T> a(rows * depth), b(depth * columns), sums(rows * columns);
  for (int64_t i = 0; i < p.m; i += rows) {
    for (int64_t j = 0; j < p.n; j += max_columns) {
      const int64_t row_count = std::min(rows, p.m - i), column_count = std::min(max_columns, p.n - j);
      sum_depth<Element>({p, i, row_count, j, column_count, columns, a.data(), b.data()}, 0, p.k, sums.data());
      for (int64_t r = 0; r < row_count; ++r)
        for (int64_t s = 0; s < column_count; ++s) finish(p, t, i + r, j + s, sums[r * columns + s]);
    }
  }
}

// A product whose result is a row (m == 1); a column is the row of the transposed product.
template <class Element>
void multiply_row(const GemmBlock& p, bool is_column) {
  const Typed<Element> t = typed<Element>(p);
  const Element* x = is_column ? t.b : t.a;
  const Element* matrix = is_column ? t.a : t.b;
  const int64_t x_stride = is_column ? p.b_row : p.a_column, count = is_column ? p.m : p.n;
  const int64_t depth_stride = is_column ? p.a_column : p.b_row, stride = is_column ? p.a_row : p.b_column;
  const auto put = [&](int64_t i, Compute<Element> sum) { finish(p, t, is_column ? i : 0, is_column ? 0 : i, sum); };
  if (stride == 1 && depth_stride != 1) {
    constexpr int64_t block = 1024;
    Compute<Element> sums[block];
    for (int64_t i = 0; i < count; i += block) {
      const int64_t some = std::min(block, count - i);
      add_many_rows<block>(x, x_stride, matrix + i, depth_stride, p.k, some, sums);
      for (int64_t j = 0; j < some; ++j) put(i + j, sums[j]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) put(i, long_dot(x, x_stride, matrix + i * stride, depth_stride, p.k));
}

// Integers wrap around, as in PyTorch; booleans combine by `and` and `or`.
template <class Element>
void multiply_integers(const GemmBlock& p) {
  const Typed<Element> t = typed<Element>(p);
  const Scratch<uint64_t> sums(p.n);
  const auto value = [](Element e) { return static_cast<uint64_t>(static_cast<int64_t>(widen(e))); };
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) sums[j] = 0;
    for (int64_t k = 0; k < p.k; ++k) {
      const uint64_t factor = value(t.a[i * p.a_row + k * p.a_column]);
      const Element* row = t.b + k * p.b_row;
      if (factor == 0) continue;
      if (p.b_column == 1)
        for (int64_t j = 0; j < p.n; ++j) sums[j] += factor * value(row[j]);
      else
        for (int64_t j = 0; j < p.n; ++j) sums[j] += factor * value(row[j * p.b_column]);
    }
    for (int64_t j = 0; j < p.n; ++j) {
      Element& c = t.c[i * p.c_row + j];
      uint64_t result = sums[j] * static_cast<uint64_t>(static_cast<int64_t>(p.alpha));
      if (p.beta != 0) result += static_cast<uint64_t>(static_cast<int64_t>(p.beta)) * value(c);
      if (t.bias != nullptr) result += value(t.bias[j * p.bias_stride]);
      c = element_of<Element>(static_cast<int64_t>(result));
    }
  }
}

// Few rows with contiguous columns.
template <class Element>
void multiply_rows_of_block(const GemmBlock& p) {
  if constexpr (std::is_same_v<Compute<Element>, float>) {
    const Typed<Element> t = typed<Element>(p);
    const RowsToMultiply<Element> rows{t.a, p.a_row, {t.b, p.b_column}, p.k, p.prefetches};
    multiply_few_rows<WideProducts<Element>>(
        rows, p.m, p.n,
        [&](int64_t r, int64_t c, const float* sums, int64_t count) { finish_run(p, t, r, c, sums, count); });
  }
}

// Products of pairs of bf16, where the CPU has them: of a few rows, or of a matrix with a vector.
bool uses_pairs(const GemmBlock& p) {
#if defined(__AVX512F__)
  return p.dtype == Dtype::bf16 && codegen::has_pair_products() && (has_few_rows(p) || has_one_column(p));
#else
  static_cast<void>(p);
  return false;
#endif
}
void multiply_pairs(const GemmBlock& p) {
#if defined(__AVX512F__)
  kernels_avx512_bf16::multiply_few_rows(p);
#else
  static_cast<void>(p);
#endif
}

}  // namespace

int64_t max_few_rows(Dtype dtype, int64_t bytes) {
#if defined(__AVX512F__)
  constexpr int64_t megabyte = 1 << 20;
  const bool is_fast = dtype == Dtype::f32 || (dtype == Dtype::bf16 && codegen::pair_products_are_fast());
  if (is_fast && bytes >= 4 * megabyte) return bytes >= 16 * megabyte ? 64 : 32;
#else
  static_cast<void>(dtype);
  static_cast<void>(bytes);
#endif
  return 16;
}

void multiply_block(const GemmBlock& p) {
  if (p.codes != nullptr) return uses_pairs(p) ? multiply_pairs(p) : multiply_codes(p);
  visit_dtype(p.dtype, [&]<class Element>() {
    if constexpr (std::is_integral_v<Compute<Element>>) multiply_integers<Element>(p);
    else if (uses_pairs(p)) multiply_pairs(p);
    else if (has_few_rows(p)) multiply_rows_of_block<Element>(p);
    else if (p.m == 1 || p.n == 1) multiply_row<Element>(p, p.m != 1);
    else multiply_floating<Element>(p);
  });
}

}  // namespace fulgurite::FULGURITE_KERNELS
