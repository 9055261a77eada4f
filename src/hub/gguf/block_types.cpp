#include "hub/gguf/block_types.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace fulgurite::hub::gguf {

namespace {

float half_at(const unsigned char* at) {
  const uint32_t bits = at[0] | static_cast<uint32_t>(at[1]) << 8;
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(mantissa), -24), std::bit_cast<float>(sign));
  return std::bit_cast<float>(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13);
}

int low(unsigned char byte) { return byte & 15; }
int high(unsigned char byte) { return byte >> 4; }

// The legacy types: 32 elements with a scale, and perhaps a minimum. Byte j has the elements j and j + 16.

void q4_0(const unsigned char* block, float* out) {
  const float scale = half_at(block);
  for (int j = 0; j < 16; ++j) {
    out[j] = scale * static_cast<float>(low(block[2 + j]) - 8);
    out[j + 16] = scale * static_cast<float>(high(block[2 + j]) - 8);
  }
}

void q4_1(const unsigned char* block, float* out) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  for (int j = 0; j < 16; ++j) {
    out[j] = scale * static_cast<float>(low(block[4 + j])) + minimum;
    out[j + 16] = scale * static_cast<float>(high(block[4 + j])) + minimum;
  }
}

// The fifth bits of 32 elements.
int fifth_bit(const unsigned char* bits, int element) { return (bits[element / 8] >> (element % 8) & 1) << 4; }

void q5_0(const unsigned char* block, float* out) {
  const float scale = half_at(block);
  const unsigned char* bits = block + 2;
  for (int j = 0; j < 16; ++j) {
    out[j] = scale * static_cast<float>((low(block[6 + j]) | fifth_bit(bits, j)) - 16);
    out[j + 16] = scale * static_cast<float>((high(block[6 + j]) | fifth_bit(bits, j + 16)) - 16);
  }
}

void q5_1(const unsigned char* block, float* out) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  const unsigned char* bits = block + 4;
  for (int j = 0; j < 16; ++j) {
    out[j] = scale * static_cast<float>(low(block[8 + j]) | fifth_bit(bits, j)) + minimum;
    out[j + 16] = scale * static_cast<float>(high(block[8 + j]) | fifth_bit(bits, j + 16)) + minimum;
  }
}

void q8_0(const unsigned char* block, float* out) {
  const float scale = half_at(block);
  for (int j = 0; j < 32; ++j) out[j] = scale * static_cast<float>(static_cast<signed char>(block[2 + j]));
}

// The K types: 256 elements in groups, with scales that are quantized themselves.

// The six-bit scale and minimum of each of eight groups of 32, in twelve bytes.
struct GroupScale {
  float scale, minimum;
};
GroupScale group_scale(const unsigned char* block, int group) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  const unsigned char* packed = block + 4;
  int s = packed[group] & 63, m = packed[group + 4] & 63;
  if (group >= 4) {
    s = low(packed[group + 4]) | (packed[group - 4] >> 6) << 4;
    m = high(packed[group + 4]) | (packed[group] >> 6) << 4;
  }
  return {scale * static_cast<float>(s), minimum * static_cast<float>(m)};
}

// Groups 2 i and 2 i + 1 share 32 bytes.
int nibble(const unsigned char* bytes, int group, int j) {
  const unsigned char byte = bytes[32 * (group / 2) + j];
  return group % 2 == 0 ? low(byte) : high(byte);
}

void q4_k(const unsigned char* block, float* out) {
  for (int group = 0; group < 8; ++group) {
    const GroupScale of = group_scale(block, group);
    for (int j = 0; j < 32; ++j)
      out[32 * group + j] = of.scale * static_cast<float>(nibble(block + 16, group, j)) - of.minimum;
  }
}

void q5_k(const unsigned char* block, float* out) {
  const unsigned char* bits = block + 16;
  for (int group = 0; group < 8; ++group) {
    const GroupScale of = group_scale(block, group);
    for (int j = 0; j < 32; ++j) {
      const int code = nibble(block + 48, group, j) | (bits[j] >> group & 1) << 4;
      out[32 * group + j] = of.scale * static_cast<float>(code) - of.minimum;
    }
  }
}

// Two halves of 128 elements: 64 bytes of low bits, 32 bytes of high bits and eight scales each.
void q6_k(const unsigned char* block, float* out) {
  const float scale = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, j = i % 32;
    const unsigned char byte = block[64 * half + 32 * (quarter % 2) + j];
    const int bits = block[128 + 32 * half + j] >> (2 * quarter) & 3;
    const int code = (quarter < 2 ? low(byte) : high(byte)) | bits << 4;
    const auto group = static_cast<signed char>(block[192 + i / 16]);
    out[i] = scale * static_cast<float>(group) * static_cast<float>(code - 32);
  }
}

constexpr BlockType types[] = {
    {0, "F32", 1, 4},
    {1, "F16", 1, 2},
    {2, "Q4_0", 32, 18, q4_0},
    {3, "Q4_1", 32, 20, q4_1},
    {6, "Q5_0", 32, 22, q5_0},
    {7, "Q5_1", 32, 24, q5_1},
    {8, "Q8_0", 32, 34, q8_0},
    {12, "Q4_K", 256, 144, q4_k},
    {13, "Q5_K", 256, 176, q5_k},
    {14, "Q6_K", 256, 210, q6_k},
    {30, "BF16", 1, 2},
};

}  // namespace

const BlockType* find_type(uint32_t number) {
  for (const BlockType& type : types)
    if (type.number == number) return &type;
  return nullptr;
}

const char* type_names() { return "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K and Q6_K"; }

}  // namespace fulgurite::hub::gguf
