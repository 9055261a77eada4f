#pragma once
#include <bit>
#include <cstdint>

namespace fulgurite {

// The two 16-bit floating types, as their bits. Rounding is to nearest, ties to even; NaN stays NaN.

constexpr float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

constexpr uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

constexpr float f16_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  // Zero and subnormals: magnitude · 2^-24, exact in a float.
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

constexpr uint16_t float_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Below the smallest normal number: adding 0.5 leaves value · 2^24, rounded by the adder, in the lowest bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = magnitude >> 13 & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - (112u << 23) + 0xfffu + odd) >> 13));
}

/// Through float, as PyTorch converts: f64 to a 16-bit type rounds twice.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(float_to_bf16(value)) {}
  constexpr operator float() const { return bf16_to_float(bits); }
};
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  constexpr explicit Float16(float value) : bits(float_to_f16(value)) {}
  constexpr operator float() const { return f16_to_float(bits); }
};

}  // namespace fulgurite
