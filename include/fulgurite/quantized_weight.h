#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>

#include <fulgurite/dtype.h>
#include <fulgurite/source_location.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {
namespace nn {

/// The ways of storing a weight in few bits: groups of 32 numbers along a row, each with a scale of f16. The names are
/// those of llama.cpp.
enum class Codes : uint8_t {
  q8_0,  // 8.5 bits a number: round(x / scale), where the scale is the largest magnitude / 127
  q4_0,  // 4.5 bits: from -8 to 7 times the scale, which is the number of the largest magnitude / -8
  q4_1,  // 5 bits: from 0 to 15 times the scale above the group's minimum
};

/// A matrix in few bits, as prims::dequantize reads it. Products of a jitted function read the codes themselves.
struct QuantizedWeight {
  Tensor codes;   // i8 [out, in], or u8 [out, in / 2] with two codes in a byte
  Tensor scales;  // f16 [out, in / 32]
  Tensor minima;  // as scales; undefined for q8_0 and q4_0

  int64_t out_features() const { return codes.size(0).hint(); }
  int64_t in_features() const { return 32 * scales.size(1).hint(); }
  /// The numbers that the codes stand for: [out, in].
  Tensor dequantized(Dtype dtype = Dtype::f32, SourceLocation at = SourceLocation::here()) const;
};

/// Rounds a floating-point matrix [out, in] to codes, with the bits of llama.cpp's reference. UserError if `in` is not
/// a multiple of 32.
QuantizedWeight quantize(const Tensor& weight, Codes codes);

}  // namespace nn
}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
