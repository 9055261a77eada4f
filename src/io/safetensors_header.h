#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/io.h>

namespace fulgurite::safetensors {

inline constexpr uint64_t prefix_bytes = 8;              // the header's length, little endian
inline constexpr uint64_t longest_header = 100'000'000;  // the format's own limit

/// Returns the format's name of a dtype: "F32".
std::string_view name_of(Dtype);

/// A parsed and checked header. Entries of `names`, `infos` and `begins` with the same index belong together.
struct Header {
  std::vector<std::string> names;
  std::vector<SafetensorsInfo> infos;
  std::vector<uint64_t> begins;  // the offset of each tensor's data in the file
  std::vector<uint32_t> sorted;  // indices sorted by name
  Metadata metadata;

  /// The index of a name; -1 if there is none.
  int64_t find(std::string_view name) const;
};

/// Returns the header's length from the first eight bytes of a file, checked against the file's size.
uint64_t header_length(const unsigned char* prefix, uint64_t file_bytes);

/// Throws UserError for anything that the format forbids. Linear in the text's length, apart from sorting.
Header parse_header(std::string_view text, uint64_t file_bytes);

}  // namespace fulgurite::safetensors
