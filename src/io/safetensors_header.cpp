#include "io/safetensors_header.h"

#include <algorithm>
#include <numeric>

#include <fulgurite/error.h>

#include "io/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::safetensors {

namespace {

using Kind = json::Node::Kind;

struct FormatDtype {
  std::string_view name;
  uint64_t bits;
  std::optional<Dtype> loads_as = std::nullopt;
};

constexpr FormatDtype dtypes[] = {
    {"F64", 64, Dtype::f64},
    {"F32", 32, Dtype::f32},
    {"BF16", 16, Dtype::bf16},
    {"F16", 16, Dtype::f16},
    {"I64", 64, Dtype::i64},
    {"I32", 32, Dtype::i32},
    {"I16", 16, Dtype::i16},
    {"I8", 8, Dtype::i8},
    {"U8", 8, Dtype::u8},
    {"BOOL", 8, Dtype::boolean},
    {"U16", 16},
    {"U32", 32},
    {"U64", 64},
    {"C64", 64},
    {"F8_E4M3", 8},
    {"F8_E5M2", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F4", 4},
};

const FormatDtype& dtype_of(std::string_view name) {
  for (const FormatDtype& dtype : dtypes)
    if (dtype.name == name) return dtype;
  throw UserError(text::cat("the format has no dtype \"", printable(name), "\""));
}

uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw UserError("the sizes are too large");
  return product;
}

uint64_t bytes_of(const FormatDtype& dtype, const std::vector<int64_t>& shape) {
  uint64_t elements = 1;
  for (const int64_t size : shape) elements = multiply(elements, static_cast<uint64_t>(size));
  const uint64_t bits = multiply(elements, dtype.bits);
  if (bits % 8 != 0) throw UserError("its elements do not fill whole bytes");
  return bits / 8;
}

bool is_count(const json::Node& node) { return node.is(Kind::integer) && node.integer >= 0; }

// Reads a tensor's description, and the end of its data; appends the beginning to `begins`.
void read_entry(Header& header, std::string&& name, const json::Node& node, uint64_t data_start) {
  if (!node.is(Kind::object)) throw UserError("its description is not an object");
  const FormatDtype& dtype = dtype_of(node.at("dtype", Kind::string).string);
  SafetensorsInfo info{std::string(dtype.name), {}, 0, dtype.loads_as};
  for (const json::Node& size : node.at("shape", Kind::array).items) {
    if (!is_count(size)) throw UserError("a size is not a whole number");
    info.shape.push_back(size.integer);
  }
  info.bytes = bytes_of(dtype, info.shape);
  const std::vector<json::Node>& offsets = node.at("data_offsets", Kind::array).items;
  if (offsets.size() != 2 || !is_count(offsets[0]) || !is_count(offsets[1]) || offsets[1].integer < offsets[0].integer)
    throw UserError("data_offsets are not two increasing numbers");
  const auto begin = static_cast<uint64_t>(offsets[0].integer), end = static_cast<uint64_t>(offsets[1].integer);
  if (end - begin != info.bytes) throw UserError("data_offsets do not fit the shape and dtype");
  header.names.push_back(std::move(name));
  header.infos.push_back(std::move(info));
  header.begins.push_back(data_start + begin);
}

void read_metadata(Header& header, json::Node& node) {
  if (node.is(Kind::null)) return;
  if (!node.is(Kind::object)) throw UserError("metadata are not an object");
  for (auto& [key, value] : node.members) {
    if (!value.is(Kind::string)) throw UserError("metadata are not strings");
    header.metadata.emplace(std::move(key), std::move(value.string));
  }
}

std::vector<uint32_t> all_indices(const Header& header) {
  std::vector<uint32_t> indices(header.names.size());
  std::iota(indices.begin(), indices.end(), 0u);
  return indices;
}

void sort_names(Header& header) {
  header.sorted = all_indices(header);
  std::sort(header.sorted.begin(), header.sorted.end(),
            [&](uint32_t a, uint32_t b) { return header.names[a] < header.names[b]; });
  for (size_t i = 1; i < header.sorted.size(); ++i)
    if (header.names[header.sorted[i]] == header.names[header.sorted[i - 1]])
      throw UserError(text::cat("tensor ", printable(header.names[header.sorted[i]]), " is there twice"));
}

// Tensors may not share bytes, and there may be no bytes between or after them.
void check_coverage(const Header& header, uint64_t data_start, uint64_t file_bytes) {
  std::vector<uint32_t> order = all_indices(header);
  const auto end = [&](uint32_t i) { return header.begins[i] + header.infos[i].bytes; };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return header.begins[a] != header.begins[b] ? header.begins[a] < header.begins[b] : end(a) < end(b);
  });
  uint64_t at = data_start;
  for (const uint32_t i : order) {
    if (header.begins[i] != at)
      throw UserError(text::cat("tensor ", printable(header.names[i]), " overlaps another or leaves a gap"));
    at = end(i);
  }
  if (at > file_bytes)
    throw UserError(text::cat("the file is cut short: it should have ", at, " bytes and has ", file_bytes));
  if (at < file_bytes)
    throw UserError(text::cat(counted(static_cast<int64_t>(file_bytes - at), "byte"),
                              file_bytes - at == 1 ? " is" : " are", " left over after the last tensor"));
}

}  // namespace

std::string_view name_of(Dtype wanted) {
  for (const FormatDtype& dtype : dtypes)
    if (dtype.loads_as == wanted) return dtype.name;
  return "";
}

int64_t Header::find(std::string_view name) const {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), name,
                                   [&](uint32_t i, std::string_view wanted) { return names[i] < wanted; });
  return at != sorted.end() && names[*at] == name ? static_cast<int64_t>(*at) : -1;
}

uint64_t header_length(const unsigned char* prefix, uint64_t file_bytes) {
  uint64_t length = 0;
  for (size_t i = prefix_bytes; i-- > 0;) length = length << 8 | prefix[i];
  if (length > longest_header)
    throw UserError(text::cat("the header's length, ", std::to_string(length), ", is more than the format allows (",
                              longest_header, ")"));
  if (length > file_bytes - prefix_bytes)
    throw UserError(text::cat("the header's length, ", length, ", does not fit the file, which is cut short at ",
                              file_bytes, " bytes"));
  return length;
}

Header parse_header(std::string_view text, uint64_t file_bytes) {
  if (!text.starts_with('{')) throw UserError("the header is not a JSON object: it does not begin with '{'");
  Header header;
  const uint64_t data_start = prefix_bytes + text.size();
  bool has_metadata = false;
  json::for_each_member(text, [&](json::Member&& member) {
    if (member.name == "__metadata__") {
      if (std::exchange(has_metadata, true)) throw UserError("__metadata__ is there twice");
      return read_metadata(header, member.value);
    }
    try {
      read_entry(header, std::move(member.name), member.value, data_start);
    } catch (const UserError& error) {
      throw UserError(text::cat("tensor ", printable(member.name), ": ", error.what()));
    }
  });
  sort_names(header);
  check_coverage(header, data_start, file_bytes);
  return header;
}

}  // namespace fulgurite::safetensors
