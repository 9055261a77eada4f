#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/dtype.h>

namespace fulgurite::npy {

/// The type of an array's elements as in NumPy's descr: "<f4" is little, kind f, 4 bytes.
struct ElementType {
  char kind = 'f';  // f, i, u, b
  int64_t bytes = 4;
  bool is_big_endian = false;
};

/// The header of a .npy file.
struct Header {
  ElementType element;
  bool is_fortran_order = false;
  std::vector<int64_t> shape;
  uint64_t data_begin = 0;  // offset in the file

  /// The number of elements.
  int64_t numel() const;
};

/// Parses the beginning of a file, which holds at least the header. `size` is the size of the file. Throws UserError
/// without the file's name.
Header parse_header(std::string_view start, uint64_t size);
/// The number of bytes at the beginning of a file that hold the header; 12 bytes are enough to tell. Throws UserError
/// if the file is of another format.
uint64_t header_bytes(std::string_view start);
/// The bytes before the data of a row-major array, for a file of our own.
std::string header_text(const std::vector<int64_t>& shape, Dtype dtype);
/// The dtype of tensors that hold these elements. Throws UserError if there is none.
Dtype dtype_of(const ElementType& element);

}  // namespace fulgurite::npy
