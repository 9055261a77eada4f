// Building blocks of generated kernels beside vector.h's lanes: rows and columns of tensors, loads and stores that end
// at a row's end. A kernel computes a range of rows; sizes and strides are known only at run time.
#pragma once
#include "codegen/device_lib/integers.h"
#include "codegen/device_lib/launch.h"
#include "codegen/device_lib/stream.h"

namespace fulgurite::FULGURITE_KERNELS {

struct Boolean {
  unsigned char byte;
};

FULGURITE_INLINE void stream(BFloat16* to, const ExactBFloat16& value) { stream_halves(to, value.halves); }

inline constexpr float infinity = __builtin_inff(), not_a_number = __builtin_nanf("");

// Per-row code is kept out of line to bound compile time: inlined, it would be analysed for each of a kernel's
// operands.
FULGURITE_OUT_OF_LINE void find_row(const Launch& launch, long number, long* index) {
  for (int d = launch.row_dimensions; d-- > 0;) {
    index[d] = number % launch.row_sizes[d];
    number /= launch.row_sizes[d];
  }
}
FULGURITE_OUT_OF_LINE void find_next_row(const Launch& launch, long* index) {
  for (int d = launch.row_dimensions; d-- > 0;) {
    if (++index[d] < launch.row_sizes[d]) return;
    index[d] = 0;
  }
}
FULGURITE_OUT_OF_LINE char* row_of(const Launch& launch, const long* index, int operand) {
  char* at = launch.operands[operand].data;
  for (int d = 0; d < launch.row_dimensions; ++d) at += index[d] * launch.operands[operand].strides[d];
  return at;
}

/// A cached row of the kernel's own. It is in the caches: no prefetch.
template <class Element>
struct KeptRow {
  Element* first;
};

/// One row of all tensors.
class Row {
 public:
  __attribute__((always_inline)) Row(const Launch& launch, long number) : launch_(launch) {
    find_row(launch, number, index_);
  }
  __attribute__((always_inline)) void next() { find_next_row(launch_, index_); }
  /// The row's first element in a tensor.
  template <class Element>
  __attribute__((always_inline)) Element* of(int operand) const {
    return (Element*)row_of(launch_, index_, operand);
  }
  /// The row of a result with the loop's columns.
  template <class Element>
  __attribute__((always_inline)) ResultRow<Element> result(int operand) const {
    return {of<Element>(operand), launch_.operands[operand].is_streamed};
  }
  /// Memory for a cached row of intermediate values.
  template <class Element>
  __attribute__((always_inline)) KeptRow<Element> kept(int number) const {
    return {(Element*)(launch_.kept + number * launch_.kept_stride)};
  }

 private:
  const Launch& launch_;
  long index_[max_row_dimensions];
};

inline constexpr int lane_numbers[lanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
inline constexpr long block_columns = 256;  // columns that a reduction adds up before it joins blocks

/// Sixteen columns of a row, or the rest of it.
struct Columns {
  long at = 0, end, ahead;
#if defined(__AVX512F__)
  unsigned short mask = 0xffff;  // the lanes inside the row; updated only at its end
#endif
  __attribute__((always_inline)) explicit Columns(const Launch& launch) : end(launch.columns), ahead(launch.ahead) {
    find_mask();
  }
  __attribute__((always_inline)) bool more() const { return at < end; }
  __attribute__((always_inline)) void next() {
    at += lanes;
    find_mask();
  }
  __attribute__((always_inline)) void find_mask() {
#if defined(__AVX512F__)
    if (__builtin_expect(!is_whole(), 0)) mask = more() ? (1u << (end - at)) - 1 : 0;
#endif
  }
  __attribute__((always_inline)) bool is_whole() const { return end - at >= lanes; }
  __attribute__((always_inline)) long count() const { return is_whole() ? (long)lanes : end - at; }
  __attribute__((always_inline)) Ints are_inside() const { return load(lane_numbers) < Ints((int)count()); }
  /// The indices of the columns.
  __attribute__((always_inline)) Ints places() const { return load(lane_numbers) + Ints((int)at); }
  __attribute__((always_inline)) bool end_block() const { return ((at + lanes) & (block_columns - 1)) == 0; }
};

// Loads and stores; lanes past the row's end are loaded as zero, and not stored.
#if defined(__AVX512F__)
// Prefetches memory that is read and written later: the processor cannot predict this many streams, and memory is idle
// during a row's later row loops.
typedef unsigned short HalfLanes __attribute__((vector_size(32), aligned(2), may_alias));
typedef unsigned char ByteLanes __attribute__((vector_size(16), aligned(1), may_alias));
FULGURITE_INLINE Floats load(const float* row, const Columns& c) {
  Floats result;
  __builtin_prefetch((const char*)(row + c.at) + c.ahead);
  result.part[0] = __builtin_ia32_loadups512_mask(row + c.at, FloatPart{}, c.mask);
  return result;
}
FULGURITE_INLINE void store(float* row, const Columns& c, const Floats& value) {
  __builtin_prefetch((const char*)(row + c.at) + c.ahead, 1);
  __builtin_ia32_storeups512_mask(row + c.at, value.part[0], c.mask);
}
FULGURITE_INLINE Floats load(const KeptRow<float>& row, const Columns& c) {
  Floats result;
  result.part[0] = __builtin_ia32_loadups512_mask(row.first + c.at, FloatPart{}, c.mask);
  return result;
}
FULGURITE_INLINE void store(const KeptRow<float>& row, const Columns& c, const Floats& value) {
  __builtin_ia32_storeups512_mask(row.first + c.at, value.part[0], c.mask);
}
FULGURITE_INLINE Ints load(const int* row, const Columns& c) {
  Ints result;
  result.part[0] = __builtin_ia32_loaddqusi512_mask(row + c.at, IntPart{}, c.mask);
  return result;
}
FULGURITE_INLINE void store(int* row, const Columns& c, const Ints& value) {
  __builtin_ia32_storedqusi512_mask(row + c.at, value.part[0], c.mask);
}
FULGURITE_INLINE Ints load_halves(const void* row, const Columns& c) {
  const HalfLanes* const from = (const HalfLanes*)((const unsigned short*)row + c.at);
  Ints result;
  __builtin_prefetch((const char*)from + c.ahead);
  asm("vpmovzxwd %1, %0%{%2%}%{z%}" : "=v"(result.part[0]) : "m"(*from), "Yk"(c.mask));
  return result;
}
FULGURITE_INLINE void store_halves(void* row, const Columns& c, const Ints& value) {
  HalfLanes* const to = (HalfLanes*)((unsigned short*)row + c.at);
  __builtin_prefetch((const char*)to + c.ahead, 1);
  asm("vmovdqu16 %1, %0%{%2%}" : "+m"(*to) : "v"(low_halves(value.part[0])), "Yk"(c.mask));
}
FULGURITE_INLINE Ints load_bytes(const void* row, const Columns& c) {
  const ByteLanes* const from = (const ByteLanes*)((const unsigned char*)row + c.at);
  Ints result;
  asm("vpmovzxbd %1, %0%{%2%}%{z%}" : "=v"(result.part[0]) : "m"(*from), "Yk"(c.mask));
  return result;
}
FULGURITE_INLINE void store_bytes(void* row, const Columns& c, const Ints& value) {
  ByteLanes* const to = (ByteLanes*)((unsigned char*)row + c.at);
  asm("vmovdqu8 %1, %0%{%2%}" : "+m"(*to) : "v"(low_bytes(value.part[0])), "Yk"(c.mask));
}
/// Returns x, with `fill` in the lanes past the row's end.
FULGURITE_INLINE Floats keep_inside(const Columns& c, const Floats& x, const Floats& fill) {
  Floats result;
  asm("vblendmps %2, %1, %0%{%3%}" : "=v"(result.part[0]) : "v"(fill.part[0]), "v"(x.part[0]), "Yk"(c.mask));
  return result;
}
#else
template <class Element>
FULGURITE_INLINE void copy_some(Element* to, const Element* from, long count) {
  __builtin_memcpy(to, from, count * sizeof(Element));
}
#if defined(__AVX2__) && !defined(__SANITIZE_ADDRESS__)
// Masked loads and stores are slow on many CPUs: used only at a row's end. The sanitizer does not see them.
FULGURITE_INLINE Floats load(const float* row, const Columns& c) {
  if (c.is_whole()) return load(row + c.at);
  const Ints mask = c.are_inside();
  Floats result;
  FULGURITE_EACH_PART(result.part[p] = __builtin_ia32_maskloadps256((const FloatPart*)(row + c.at) + p, mask.part[p]));
  return result;
}
FULGURITE_INLINE void store(float* row, const Columns& c, const Floats& value) {
  if (c.is_whole()) return store(row + c.at, value);
  const Ints mask = c.are_inside();
  FULGURITE_EACH_PART(__builtin_ia32_maskstoreps256((FloatPart*)(row + c.at) + p, mask.part[p], value.part[p]));
}
FULGURITE_INLINE Ints load(const int* row, const Columns& c) {
  if (c.is_whole()) return load(row + c.at);
  const Ints mask = c.are_inside();
  Ints result;
  FULGURITE_EACH_PART(result.part[p] = __builtin_ia32_maskloadd256((const IntPart*)(row + c.at) + p, mask.part[p]));
  return result;
}
FULGURITE_INLINE void store(int* row, const Columns& c, const Ints& value) {
  if (c.is_whole()) return store(row + c.at, value);
  const Ints mask = c.are_inside();
  FULGURITE_EACH_PART(__builtin_ia32_maskstored256((IntPart*)(row + c.at) + p, mask.part[p], value.part[p]));
}
#else
FULGURITE_INLINE Floats load(const float* row, const Columns& c) {
  return c.is_whole() ? load(row + c.at) : load_some(row + c.at, c.count());
}
FULGURITE_INLINE void store(float* row, const Columns& c, const Floats& value) {
  if (c.is_whole()) store(row + c.at, value);
  else store_some(row + c.at, value, c.count());
}
FULGURITE_INLINE Ints load(const int* row, const Columns& c) {
  if (c.is_whole()) return load(row + c.at);
  int some[lanes] = {};
  copy_some(some, row + c.at, c.count());
  return load(some);
}
FULGURITE_INLINE void store(int* row, const Columns& c, const Ints& value) {
  if (c.is_whole()) return store(row + c.at, value);
  int some[lanes];
  store(some, value);
  copy_some(row + c.at, some, c.count());
}
#endif
FULGURITE_INLINE Ints load_halves(const void* row, const Columns& c) {
  const unsigned short* from = (const unsigned short*)row + c.at;
  if (c.is_whole()) return load_halves(from);
  unsigned short some[lanes] = {};
  copy_some(some, from, c.count());
  return load_halves(some);
}
FULGURITE_INLINE void store_halves(void* row, const Columns& c, const Ints& value) {
  unsigned short* to = (unsigned short*)row + c.at;
  if (c.is_whole()) return store_halves(to, value);
  unsigned short some[lanes];
  store_halves(some, value);
  copy_some(to, some, c.count());
}
FULGURITE_INLINE Ints load_bytes(const void* row, const Columns& c) {
  const unsigned char* from = (const unsigned char*)row + c.at;
  if (c.is_whole()) return load_bytes(from);
  unsigned char some[lanes] = {};
  copy_some(some, from, c.count());
  return load_bytes(some);
}
FULGURITE_INLINE void store_bytes(void* row, const Columns& c, const Ints& value) {
  unsigned char* to = (unsigned char*)row + c.at;
  if (c.is_whole()) return store_bytes(to, value);
  unsigned char some[lanes];
  store_bytes(some, value);
  copy_some(to, some, c.count());
}
FULGURITE_INLINE Floats keep_inside(const Columns& c, const Floats& x, const Floats& fill) {
  return c.is_whole() ? x : select(c.are_inside(), x, fill);
}
#endif
FULGURITE_INLINE Ints keep_inside(const Columns& c, const Ints& x, const Ints& fill) {
  return c.is_whole() ? x : select(c.are_inside(), x, fill);
}
FULGURITE_INLINE Floats load(const BFloat16* row, const Columns& c) {
  return from_bits(shift_left(load_halves(row, c), 16));
}
FULGURITE_INLINE void store(BFloat16* row, const Columns& c, const Floats& value) {
  store_halves(row, c, to_exact_bfloat16(value).halves);
}
FULGURITE_INLINE void store(BFloat16* row, const Columns& c, const ExactBFloat16& value) {
  store_halves(row, c, value.halves);
}
#if defined(__F16C__)
#if defined(__AVX512F__)
FULGURITE_INLINE Floats load(const Float16* row, const Columns& c) {
  const HalfLanes* const from = (const HalfLanes*)(row + c.at);
  Floats result;
  __builtin_prefetch((const char*)from + c.ahead);
  asm("vcvtph2ps %1, %0%{%2%}%{z%}" : "=v"(result.part[0]) : "m"(*from), "Yk"(c.mask));
  return result;
}
FULGURITE_INLINE void store(Float16* row, const Columns& c, const ExactFloat16& value) {
  HalfLanes* const to = (HalfLanes*)(row + c.at);
  __builtin_prefetch((const char*)to + c.ahead, 1);
  asm("vmovdqu16 %1, %0%{%2%}" : "+m"(*to) : "v"(value.part[0]), "Yk"(c.mask));
}
#else
FULGURITE_INLINE Floats load(const Float16* row, const Columns& c) {
  if (c.is_whole()) return from_float16(row + c.at);
  Float16 some[lanes] = {};
  copy_some(some, row + c.at, c.count());
  return from_float16(some);
}
FULGURITE_INLINE void store(Float16* row, const Columns& c, const ExactFloat16& value) {
  typedef unsigned short Part __attribute__((vector_size(part_bytes / 2), aligned(2), may_alias));
  if (!c.is_whole()) return copy_some(row + c.at, (const Float16*)&value, c.count());
  FULGURITE_EACH_PART(*(Part*)(row + c.at + p * part_lanes) = value.part[p]);
}
#endif
FULGURITE_INLINE void store(Float16* row, const Columns& c, const Floats& value) {
  store(row, c, to_exact_float16(value));
}
#else
FULGURITE_INLINE Floats load(const Float16* row, const Columns& c) { return from_float16_bits(load_halves(row, c)); }
FULGURITE_INLINE void store(Float16* row, const Columns& c, const Floats& value) {
  store_halves(row, c, float16_bits(value));
}
#endif
FULGURITE_INLINE Ints load(const short* row, const Columns& c) { return wrap_16(load_halves(row, c)); }
FULGURITE_INLINE void store(short* row, const Columns& c, const Ints& value) { store_halves(row, c, value); }
FULGURITE_INLINE Ints load(const signed char* row, const Columns& c) { return wrap_8(load_bytes(row, c)); }
FULGURITE_INLINE void store(signed char* row, const Columns& c, const Ints& value) { store_bytes(row, c, value); }
FULGURITE_INLINE Ints load(const unsigned char* row, const Columns& c) { return load_bytes(row, c); }
FULGURITE_INLINE void store(unsigned char* row, const Columns& c, const Ints& value) { store_bytes(row, c, value); }
FULGURITE_INLINE Ints load(const Boolean* row, const Columns& c) { return load_bytes(row, c) != Ints(0); }
FULGURITE_INLINE void store(Boolean* row, const Columns& c, const Ints& mask) { store_bytes(row, c, to_numbers(mask)); }

template <class Element, class Lanes>
FULGURITE_INLINE void store(const ResultRow<Element>& row, const Columns& c, const Lanes& value) {
  if constexpr (sizeof(Element) > 1) {
    if (row.is_streamed && c.is_whole()) return stream(row.first + c.at, value);
  }
  store(row.first, c, value);
}

FULGURITE_INLINE void store(const ResultRow<BFloat16>& row, const Columns& c, const Floats& value) {
  store(row, c, to_exact_bfloat16(value));
}
#if defined(__F16C__)
FULGURITE_INLINE void store(const ResultRow<Float16>& row, const Columns& c, const Floats& value) {
  store(row, c, to_exact_float16(value));
}
#endif

template <class Element>
FULGURITE_INLINE auto load(const KeptRow<Element>& row, const Columns& c) {
  return load(row.first, c);
}
template <class Element, class Lanes>
FULGURITE_INLINE void store(const KeptRow<Element>& row, const Columns& c, const Lanes& value) {
  store(row.first, c, value);
}

/// Broadcasts one element to all lanes, and extracts the first lane as one element.
template <class Element>
FULGURITE_INLINE auto load_one(const Element* from) {
  Element all[lanes];
  for (int lane = 0; lane < lanes; ++lane) all[lane] = *from;
  const Launch one{lanes, 0, {}, nullptr, nullptr, nullptr, 0};
  return load(all, Columns(one));
}
FULGURITE_INLINE Floats load_one(const float* from) { return Floats(*from); }
FULGURITE_INLINE Ints load_one(const int* from) { return Ints(*from); }
template <class Element, class Lanes>
FULGURITE_INLINE void store_one(Element* to, const Lanes& value) {
  const Launch one{1, 0, {}, nullptr, nullptr, nullptr, 0};
  store(to, Columns(one), value);
}
}  // namespace fulgurite::FULGURITE_KERNELS
