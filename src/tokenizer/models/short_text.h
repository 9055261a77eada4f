#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace fulgurite::tokenization {

// Texts of tokens are a few bytes, for which calls of the C library take longer than the work.

inline uint64_t load_bytes(const char* from, size_t count) {
  uint64_t word = 0;
  std::memcpy(&word, from, count);
  return word;
}

/// All bytes of a text of less than 8: texts of one size differ in it if they differ.
inline uint64_t bytes_below_8(std::string_view text) {
  const size_t size = text.size();
  if (size >= 4) return load_bytes(text.data(), 4) | load_bytes(text.data() + size - 4, 4) << 32;
  if (size == 0) return 0;
  const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(text[i])); };
  return byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
}

inline uint64_t hash_of(std::string_view text) {
  constexpr uint64_t factor = 0x9E3779B97F4A7C15U;
  const size_t size = text.size();
  uint64_t hash = size * factor;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * factor;
    hash ^= hash >> 29;
  };
  if (size < 8) {
    mix(bytes_below_8(text));
  } else {
    for (size_t at = 0; at + 8 < size; at += 8) mix(load_bytes(text.data() + at, 8));
    mix(load_bytes(text.data() + size - 8, 8));
  }
  return hash * factor ^ hash >> 32;
}

inline bool is_equal(std::string_view a, std::string_view b) {
  const size_t size = a.size();
  if (b.size() != size) return false;
  if (size < 8) return bytes_below_8(a) == bytes_below_8(b);
  for (size_t at = 0; at + 8 < size; at += 8)
    if (load_bytes(a.data() + at, 8) != load_bytes(b.data() + at, 8)) return false;
  return load_bytes(a.data() + size - 8, 8) == load_bytes(b.data() + size - 8, 8);
}

}  // namespace fulgurite::tokenization
