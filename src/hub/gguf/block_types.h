#pragma once
#include <cstddef>
#include <cstdint>

namespace fulgurite::hub::gguf {

/// A type of tensors in GGUF files: elements are stored in blocks.
struct BlockType {
  uint32_t number;  // in files
  const char* name;
  int64_t elements;  // of a block
  int64_t bytes;     // of a block
  /// Writes a block's elements. Null for types that are dtypes.
  void (*dequantize)(const unsigned char* block, float* out) = nullptr;
};

/// Returns the type of a number in files; null for one that the library does not have.
const BlockType* find_type(uint32_t number);
/// The names of the types.
const char* type_names();

}  // namespace fulgurite::hub::gguf
