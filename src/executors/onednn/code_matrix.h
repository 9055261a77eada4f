#pragma once
#include <cstdint>

#include <fulgurite/dtype.h>

namespace fulgurite {

/// A contiguous matrix of few bits, as prims::dequantize reads it: [rows, columns] in groups of 32 columns.
struct CodeMatrix {
  const void* codes = nullptr;   // i8, or u8 with two codes in a byte
  const void* scales = nullptr;  // of scale_dtype: [rows, columns / 32]
  const void* minima = nullptr;  // as scales; null: there are none
  Dtype scale_dtype = Dtype::f16;
  bool is_packed = false;  // two codes in a byte
  int64_t columns = 0;

  static constexpr int64_t group = 32;
  int64_t groups() const { return columns / group; }
  int64_t row_bytes() const { return is_packed ? columns / 2 : columns; }
};

}  // namespace fulgurite
