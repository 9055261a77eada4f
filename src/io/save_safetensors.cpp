#include <algorithm>
#include <cstdint>
#include <functional>
#include <ostream>

#include <fulgurite/error.h>
#include <fulgurite/io.h>

#include "io/atomic_file.h"
#include "io/json.h"
#include "io/safetensors_header.h"
#include "ops/tensor/tensor_values.h"
#include "runtime/copy_elements.h"
#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

// A name and the contiguous tensor that has its elements.
struct Entry {
  std::string_view name;
  Tensor tensor;
  uint64_t bytes() const { return static_cast<uint64_t>(tensor.impl()->numel() * size_of(tensor.impl()->dtype)); }
};

void check_text(std::string_view kind, std::string_view text) {
  if (!is_utf8(text)) throw UserError(text::cat(kind, " \"", printable(text), "\" cannot be saved: it is not UTF-8"));
}

void check_names(const TensorMap& tensors, const Metadata& metadata) {
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__")
      throw UserError("a tensor cannot be saved as __metadata__: the format has that name for the metadata");
    check_text("the name", name);
    if (!tensor.defined()) throw UserError(text::cat("tensor ", printable(name), " to be saved is undefined"));
  }
  for (const auto& [key, value] : metadata) {
    check_text("the name of metadata", key);
    check_text(text::cat("the metadata ", printable(key), " ="), value);
  }
}

// The elements in row-major order. Reading them causes a graph break, as printing does.
Tensor elements_of(const Tensor& tensor) {
  const TensorImpl& impl = demand_elements(tensor, "save_safetensors()", {});
  if (impl.is_contiguous) return tensor;
  Tensor copy = make_tensor(impl.sizes, impl.dtype);
  copy_elements(tensor, copy);
  return copy;
}

// Sorted by descending element size, so that each tensor's data are aligned.
std::vector<Entry> ordered_entries(const TensorMap& tensors) {
  std::vector<Entry> entries;
  entries.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) entries.push_back({name, elements_of(tensor)});
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return size_of(a.tensor.dtype()) > size_of(b.tensor.dtype());
  });
  return entries;
}

std::string metadata_text(const Metadata& metadata) {
  const auto member = [](const auto& item) { return json::quote(item.first) + ": " + json::quote(item.second); };
  return "\"__metadata__\": {" + text::join(metadata, member) + "}";
}

std::string header_text(const std::vector<Entry>& entries, const Metadata& metadata) {
  std::string header = "{";
  if (!metadata.empty()) header += metadata_text(metadata);
  uint64_t offset = 0;
  for (const Entry& entry : entries) {
    const TensorImpl& impl = *entry.tensor.impl();
    if (header.size() > 1) header += ", ";
    header += text::cat(json::quote(entry.name), ": {\"dtype\": \"", safetensors::name_of(impl.dtype),
                        "\", \"shape\": [", text::join(impl.sizes, [](int64_t size) { return std::to_string(size); }),
                        "], \"data_offsets\": [", offset, ", ", offset + entry.bytes(), "]}");
    offset += entry.bytes();
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data start at a multiple of 8
  if (header.size() > safetensors::longest_header)
    throw UserError(text::cat("these tensors cannot be saved in one file: their names and shapes take ", header.size(),
                              " bytes, the format allows ", safetensors::longest_header));
  return header;
}

/// A file's contents, checked.
class Contents {
 public:
  Contents(const TensorMap& tensors, const Metadata& metadata) {
    check_names(tensors, metadata);
    entries_ = ordered_entries(tensors);
    header_ = header_text(entries_, metadata);
  }
  /// Calls `put` with consecutive bytes.
  void write(const std::function<void(const void*, size_t)>& put) const {
    unsigned char prefix[safetensors::prefix_bytes];
    for (size_t i = 0; i < sizeof prefix; ++i) prefix[i] = static_cast<unsigned char>(header_.size() >> (8 * i));
    put(prefix, sizeof prefix);
    put(header_.data(), header_.size());
    for (const Entry& entry : entries_) put(entry.tensor.impl()->data(), static_cast<size_t>(entry.bytes()));
  }

 private:
  std::vector<Entry> entries_;
  std::string header_;
};

}  // namespace

void save_safetensors(const std::string& path, const TensorMap& tensors, const Metadata& metadata) {
  const Contents contents(tensors, metadata);
  AtomicFile file(path);
  contents.write([&file](const void* bytes, size_t count) { file.write(bytes, count); });
  file.commit();
}

void save_safetensors(std::ostream& out, const TensorMap& tensors, const Metadata& metadata) {
  const Contents contents(tensors, metadata);
  contents.write([&out](const void* bytes, size_t count) {
    out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
  });
  if (!out.flush()) throw UserError("save_safetensors(): writing into the stream failed");
}

}  // namespace fulgurite
