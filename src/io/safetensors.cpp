#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include <fulgurite/error.h>
#include <fulgurite/io.h>
#include <fulgurite/operators.h>

#include "io/atomic_file.h"
#include "io/json.h"
#include "support/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

constexpr std::string_view format_names[dtype_count] = {"F64", "F32", "BF16", "F16", "I64", "I32", "I16", "I8", "U8", "BOOL"};
constexpr uint64_t largest_header = 100'000'000;  // the format's own limit

struct Entry {
  std::string name;
  Dtype dtype;
  Sizes sizes;
  uint64_t begin, end;
};

struct Header {
  std::vector<Entry> entries;
  Metadata metadata;
  uint64_t data_start = 0;
};

Dtype dtype_of(const std::string& text) {
  for (int i = 0; i < dtype_count; ++i)
    if (format_names[i] == text) return static_cast<Dtype>(i);
  throw UserError(text::cat("dtype ", text, " is not supported"));
}

Entry read_entry(const std::string& name, const json::Node& node, uint64_t data_bytes) {
  using Kind = json::Node::Kind;
  Entry entry{name, dtype_of(node.at("dtype", Kind::string).string), {}, 0, 0};
  uint64_t bytes = static_cast<uint64_t>(size_of(entry.dtype));
  for (const json::Node& size : node.at("shape", Kind::array).items) {
    if (!size.is(Kind::integer) || size.integer < 0) throw UserError("a size is not a whole number");
    if (size.integer > 0 && bytes > UINT64_MAX / static_cast<uint64_t>(size.integer)) throw UserError("the sizes are too large");
    bytes *= static_cast<uint64_t>(size.integer);
    entry.sizes.push_back(size.integer);
  }
  const json::Node& offsets = node.at("data_offsets", Kind::array);
  if (offsets.items.size() != 2 || !offsets.items[0].is(Kind::integer) || !offsets.items[1].is(Kind::integer) ||
      offsets.items[0].integer < 0 || offsets.items[1].integer < offsets.items[0].integer)
    throw UserError("data_offsets are not two increasing numbers");
  entry.begin = static_cast<uint64_t>(offsets.items[0].integer);
  entry.end = static_cast<uint64_t>(offsets.items[1].integer);
  if (entry.end - entry.begin != bytes) throw UserError("data_offsets do not fit the shape and dtype");
  if (entry.end > data_bytes) throw UserError("the file is cut short");
  return entry;
}

// Tensors may not share bytes, and there may be no bytes between or after them.
void check_coverage(std::vector<Entry> entries, uint64_t data_bytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at) throw UserError(text::cat("tensor ", entry.name, " overlaps another or leaves a gap"));
    at = entry.end;
  }
  if (at != data_bytes) throw UserError("bytes are left over after the last tensor");
}

Header read_header(std::ifstream& file, uint64_t file_bytes) {
  unsigned char prefix[8];
  if (file_bytes < 8 || !file.read(reinterpret_cast<char*>(prefix), 8)) throw UserError("the file is too short for a header");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  if (length > largest_header || length > file_bytes - 8) throw UserError("the header's length does not fit the file");
  std::string text(length, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(length))) throw UserError("the file is cut short");
  const json::Node root = json::parse(text);
  if (!root.is(json::Node::Kind::object)) throw UserError("the header is not an object");
  Header header;
  header.data_start = 8 + length;
  const uint64_t data_bytes = file_bytes - header.data_start;
  for (const auto& [name, node] : root.members) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : node.members) {
        if (!value.is(json::Node::Kind::string)) throw UserError("metadata are not strings");
        header.metadata[key] = value.string;
      }
      continue;
    }
    try {
      header.entries.push_back(read_entry(name, node, data_bytes));
    } catch (const UserError& error) {
      throw UserError(text::cat("tensor ", name, ": ", error.what()));
    }
  }
  check_coverage(header.entries, data_bytes);
  return header;
}

// A bool is the byte 0 or 1: kernels rely on it.
void check_values(const Entry& entry, const Tensor& tensor) {
  if (entry.dtype != Dtype::boolean) return;
  const auto* bytes = static_cast<const unsigned char*>(static_cast<const void*>(tensor.impl()->data()));
  if (std::any_of(bytes, bytes + (entry.end - entry.begin), [](unsigned char byte) { return byte > 1; }))
    throw UserError(text::cat("tensor ", entry.name, " has a BOOL that is neither 0 nor 1"));
}

// Opens the file, reads its header and gives both to `use`; errors name the file.
template <class Use>
auto with_file(const std::string& path, Use&& use) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError(text::cat("cannot read ", path, ": ", std::strerror(errno)));
  try {
    file.seekg(0, std::ios::end);
    const auto bytes = static_cast<int64_t>(file.tellg());
    if (bytes < 0) throw UserError("it is not a regular file");
    file.seekg(0);
    const Header header = read_header(file, static_cast<uint64_t>(bytes));
    return use(file, header);
  } catch (const UserError& error) {
    throw UserError(text::cat(path, " is not a whole safetensors file: ", error.what()));
  }
}

}  // namespace

TensorMap load_safetensors(const std::string& path) {
  return with_file(path, [](std::ifstream& file, const Header& header) {
    TensorMap tensors;
    for (const Entry& entry : header.entries) {
      const Tensor tensor = make_tensor(entry.sizes, entry.dtype);
      file.seekg(static_cast<std::streamoff>(header.data_start + entry.begin));
      if (entry.end > entry.begin && !file.read(tensor.impl()->data(), static_cast<std::streamsize>(entry.end - entry.begin)))
        throw UserError("the file is cut short");
      check_values(entry, tensor);
      if (!tensors.emplace(entry.name, tensor).second) throw UserError(text::cat("tensor ", entry.name, " is there twice"));
    }
    return tensors;
  });
}

Metadata load_safetensors_metadata(const std::string& path) {
  return with_file(path, [](std::ifstream&, const Header& header) { return header.metadata; });
}

void save_safetensors(const std::string& path, const TensorMap& tensors, const Metadata& metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\": {";
    bool first = true;
    for (const auto& [key, value] : metadata) {
      header += (first ? "" : ", ") + json::quote(key) + ": " + json::quote(value);
      first = false;
    }
    header += "}";
  }
  // Large elements first, so that each tensor's data are aligned to its elements.
  std::vector<std::pair<std::string_view, Tensor>> ordered;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) throw UserError(text::cat("tensor ", name, " to be saved is undefined"));
    ordered.emplace_back(name, tensor.detach().contiguous());
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return size_of(a.second.dtype()) > size_of(b.second.dtype()); });
  uint64_t offset = 0;
  for (const auto& [name, tensor] : ordered) {
    const uint64_t bytes = static_cast<uint64_t>(tensor.impl()->numel() * size_of(tensor.dtype()));
    if (header.size() > 1) header += ", ";
    header += text::cat(json::quote(name), ": {\"dtype\": \"", format_names[static_cast<int>(tensor.dtype())], "\", \"shape\": ",
                        tensor.shape().text(), ", \"data_offsets\": [", offset, ", ", offset + bytes, "]}");
    offset += bytes;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data start at a multiple of 8
  AtomicFile file(path);
  unsigned char prefix[8];
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<unsigned char>(header.size() >> (8 * i));
  file.write(prefix, sizeof prefix);
  file.write(header);
  for (const auto& [name, tensor] : ordered)
    file.write(tensor.impl()->data(), static_cast<size_t>(tensor.impl()->numel() * size_of(tensor.dtype())));
  file.commit();
}

}  // namespace fulgurite
