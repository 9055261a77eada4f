#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <fulgurite/hub/gguf.h>

#include "io/byte_source.h"

namespace fulgurite::hub::gguf {

/// A value of the metadata. Integers of all widths are int64_t, lists of booleans lists of integers.
using Value = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>, std::vector<double>,
                           std::vector<std::string>>;

struct TensorEntry {
  std::string name;
  uint32_t type = 0;  // its number
  GgufInfo info;      // without a type's name if the library does not have it
};

struct Header {
  std::map<std::string, Value, std::less<>> values;
  std::vector<TensorEntry> tensors;
};

/// Reads the header. UserError, which does not name the file, if it is malformed or describes bytes that the file does
/// not have. Time and memory are linear in the header's length.
Header read_header(const ByteSource& source);

}  // namespace fulgurite::hub::gguf
