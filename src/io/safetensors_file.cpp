#include <algorithm>
#include <cstdint>
#include <istream>
#include <iterator>

#include <fulgurite/error.h>
#include <fulgurite/io.h>

#include "io/byte_source.h"
#include "io/file_kind.h"
#include "io/safetensors_header.h"
#include "ops/core/dispatch.h"
#include "support/log.h"
#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

using safetensors::Header;
using safetensors::prefix_bytes;

constexpr size_t signature_bytes = 256;  // of a file's beginning, for recognizing other formats

// Returns a sentence for a file of another format; empty for one that may be meant as safetensors.
std::string describe_if_foreign(const ByteSource& source) {
  std::string start(static_cast<size_t>(std::min<uint64_t>(source.size(), signature_bytes)), '\0');
  source.read(0, start.data(), start.size());
  // A header's length may look like the beginning of another format, but then a header follows.
  return start.size() > prefix_bytes && start[prefix_bytes] == '{' ? "" : describe_foreign_file(start);
}

Header read_header(const ByteSource& source) {
  if (source.size() == 0) throw UserError("it is empty");
  if (source.size() < prefix_bytes) throw UserError("the file is too short for a header");
  unsigned char prefix[prefix_bytes];
  source.read(0, prefix, sizeof prefix);
  std::string text(safetensors::header_length(prefix, source.size()), '\0');
  source.read(prefix_bytes, text.data(), text.size());
  return safetensors::parse_header(text, source.size());
}

// A bool must be the byte 0 or 1: kernels rely on it.
void check_values(std::string_view name, const Tensor& tensor, uint64_t count) {
  if (tensor.dtype() != Dtype::boolean) return;
  const auto* bytes = static_cast<const unsigned char*>(static_cast<const void*>(tensor.impl()->data()));
  if (std::any_of(bytes, bytes + count, [](unsigned char byte) { return byte > 1; }))
    throw UserError(text::cat("tensor ", printable(name), " has a BOOL that is neither 0 nor 1"));
}

Sizes sizes_of(const SafetensorsInfo& info) {
  Sizes sizes;
  for (const int64_t size : info.shape) sizes.push_back(size);
  return sizes;
}

}  // namespace

struct SafetensorsFile::State {
  std::string label;  // the file's name in errors
  std::shared_ptr<const ByteSource> source;
  Header header;

  State(std::string name, std::shared_ptr<const ByteSource> bytes) : label(std::move(name)), source(std::move(bytes)) {
    if (const std::string foreign = describe_if_foreign(*source); !foreign.empty())
      throw UserError(text::cat(label, " ", foreign));
    try {
      header = read_header(*source);
    } catch (const UserError& error) {
      throw UserError(text::cat(label, " is not a whole safetensors file: ", error.what()));
    }
  }

  size_t index_of(std::string_view name) const {
    const int64_t index = header.find(name);
    if (index < 0) throw UserError(text::cat(label, " has no tensor \"", printable(name), "\""));
    return static_cast<size_t>(index);
  }

  template <class Reader>
  Tensor load(Reader& reader, size_t i) const {
    const SafetensorsInfo& info = header.infos[i];
    if (!info.loads_as)
      throw UserError(text::cat(label, ": tensor ", printable(header.names[i]), " has the dtype ", info.dtype,
                                ", which is not supported; load_bytes() of SafetensorsFile reads its data"));
    return read(reader, i, sizes_of(info), *info.loads_as);
  }

  template <class Reader>
  Tensor read(Reader& reader, size_t i, const Sizes& sizes, Dtype dtype) const {
    try {
      Tensor tensor = make_tensor(sizes, dtype);
      reader.read(header.begins[i], tensor.impl()->data(), static_cast<size_t>(header.infos[i].bytes));
      check_values(header.names[i], tensor, header.infos[i].bytes);
      return tensor;
    } catch (const UserError& error) {
      throw UserError(text::cat(label, " is not a whole safetensors file: ", error.what()));
    }
  }
};

SafetensorsFile::SafetensorsFile(const std::string& path) : state_(std::make_shared<State>(path, open_file(path))) {
  act_immediately("opening a safetensors file", {});
}
SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes)
    : state_(std::make_shared<State>("the memory given", memory_source(bytes))) {}

const std::vector<std::string>& SafetensorsFile::names() const { return state_->header.names; }
bool SafetensorsFile::contains(std::string_view name) const { return state_->header.find(name) >= 0; }
const SafetensorsInfo& SafetensorsFile::info(std::string_view name) const {
  return state_->header.infos[state_->index_of(name)];
}
const Metadata& SafetensorsFile::metadata() const { return state_->header.metadata; }

Tensor SafetensorsFile::load(std::string_view name) const {
  act_immediately("SafetensorsFile::load()", {});
  return state_->load(*state_->source, state_->index_of(name));
}

Tensor SafetensorsFile::load_bytes(std::string_view name) const {
  act_immediately("SafetensorsFile::load_bytes()", {});
  const size_t i = state_->index_of(name);
  Sizes sizes;
  sizes.push_back(static_cast<int64_t>(state_->header.infos[i].bytes));
  return state_->read(*state_->source, i, sizes, Dtype::u8);
}

TensorMap SafetensorsFile::load_all() const {
  act_immediately("SafetensorsFile::load_all()", {});
  BufferedReader reader(*state_->source);
  TensorMap tensors;
  for (size_t i = 0; i < names().size(); ++i)
    if (state_->header.infos[i].loads_as) tensors.emplace(names()[i], state_->load(reader, i));
  return tensors;
}

namespace {

TensorMap load_all_and_warn(const SafetensorsFile& file, std::string_view label) {
  size_t omitted = 0;
  std::string first;
  for (const std::string& name : file.names())
    if (const SafetensorsInfo& info = file.info(name); !info.loads_as && omitted++ == 0)
      first = text::cat(printable(name), " has the dtype ", info.dtype);
  if (omitted > 0)
    warn(text::cat(label, ": ", omitted, omitted == 1 ? " tensor is" : " tensors are", " omitted: ", first,
                   ", which is not supported; SafetensorsFile reads the bytes"));
  return file.load_all();
}

}  // namespace

TensorMap load_safetensors(const std::string& path) { return load_all_and_warn(SafetensorsFile(path), path); }
TensorMap load_safetensors(std::istream& in) {
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw UserError("load_safetensors(): reading from the stream failed");
  return load_safetensors(std::as_bytes(std::span(bytes)));
}
TensorMap load_safetensors(std::span<const std::byte> bytes) {
  return load_all_and_warn(SafetensorsFile(bytes), "the memory given");
}
TensorMap load_safetensors(const std::string& path, const std::vector<std::string>& names) {
  const SafetensorsFile file(path);
  TensorMap tensors;
  for (const std::string& name : names) tensors.emplace(name, file.load(name));
  return tensors;
}

Metadata load_safetensors_metadata(const std::string& path) { return SafetensorsFile(path).metadata(); }

}  // namespace fulgurite
