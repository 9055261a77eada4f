#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fulgurite/io.h>

namespace fulgurite::safetensors {

inline constexpr uint64_t prefix_bytes = 8;              // the header's length, little endian
inline constexpr uint64_t longest_header = 100'000'000;  // the format's own limit

/// The format's name of a dtype: "F32".
std::string_view name_of(Dtype);

/// A parsed and checked header. Equal indices of `names`, `infos` and `begins` belong together.
struct Header {
  std::vector<std::string> names;
  std::vector<SafetensorsInfo> infos;
  std::vector<uint64_t> begins;  // where a tensor's data begin in the file
  std::vector<uint32_t> sorted;  // indices in order of names
  Metadata metadata;

  /// The index of a name; -1 if there is none.
  int64_t find(std::string_view name) const;
};

/// The length of the header that the first eight bytes of a file promise, checked against the file's size.
uint64_t header_length(const unsigned char* prefix, uint64_t file_bytes);

/// Throws UserError for what the format does not allow. Takes time in proportion to the text, apart from sorting.
Header parse_header(std::string_view text, uint64_t file_bytes);

}  // namespace fulgurite::safetensors
