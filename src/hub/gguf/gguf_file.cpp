#include <cstring>

#include <fulgurite/error.h>
#include <fulgurite/hub/gguf.h>

#include "hub/gguf/block_types.h"
#include "hub/gguf/gguf_header.h"
#include "io/byte_source.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "support/text/utf8.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::hub {

using namespace gguf;

struct GgufFile::State {
  std::string path;
  std::shared_ptr<const ByteSource> source;
  Header header;
  std::vector<std::string> names;

  explicit State(const std::string& file) : path(file), source(open_file(file)) {
    try {
      header = read_header(*source);
    } catch (const UserError& error) {
      throw UserError(text::cat("\"", path, "\" is not a whole GGUF file: ", error.what()));
    }
    for (const TensorEntry& tensor : header.tensors) names.push_back(tensor.name);
  }

  const TensorEntry* find(std::string_view name) const {
    for (const TensorEntry& tensor : header.tensors)
      if (tensor.name == name) return &tensor;
    return nullptr;
  }
  const TensorEntry& at(std::string_view name) const {
    if (const TensorEntry* tensor = find(name)) return *tensor;
    throw UserError(text::cat("\"", path, "\" has no tensor \"", printable(name), "\""));
  }

  // Null if the key is absent.
  template <class T>
  const T* value(std::string_view key, std::string_view kind) const {
    const auto at = header.values.find(key);
    if (at == header.values.end()) return nullptr;
    if (const T* value = std::get_if<T>(&at->second)) return value;
    throw UserError(text::cat("\"", path, "\": ", key, " must be ", kind));
  }

  template <class T>
  std::vector<T> list(std::string_view key, std::string_view kind) const {
    const auto* values = value<std::vector<T>>(key, kind);
    return values == nullptr ? std::vector<T>() : *values;
  }
};

GgufFile::GgufFile(const std::string& path) : state_(std::make_shared<State>(path)) {
  act_immediately("opening a GGUF file", {});
}

const std::vector<std::string>& GgufFile::names() const { return state_->names; }
bool GgufFile::contains(std::string_view name) const { return state_->find(name) != nullptr; }
const GgufInfo& GgufFile::info(std::string_view name) const { return state_->at(name).info; }

namespace {

Dtype dtype_of(const BlockType& type) {
  const std::string_view name = type.name;
  if (name == "F16") return Dtype::f16;
  return name == "BF16" ? Dtype::bf16 : Dtype::f32;
}

void dequantize(const std::vector<unsigned char>& blocks, const BlockType& type, float* out) {
  for (size_t at = 0; at < blocks.size(); at += static_cast<size_t>(type.bytes), out += type.elements)
    type.dequantize(blocks.data() + at, out);
}

}  // namespace

Tensor GgufFile::load(std::string_view name) const {
  act_immediately("GgufFile::load()", {});
  const TensorEntry& entry = state_->at(name);
  const BlockType* type = find_type(entry.type);
  if (type == nullptr)
    throw UserError(text::cat("\"", state_->path, "\": tensor ", printable(name), " is of type ", entry.type,
                              ", which is not supported; there are ", type_names()));
  Sizes sizes;
  for (const int64_t size : entry.info.shape) sizes.push_back(size);
  Tensor tensor = make_tensor(sizes, dtype_of(*type));
  void* const data = tensor.impl()->data();
  if (type->dequantize == nullptr) {
    state_->source->read(entry.info.offset, data, static_cast<size_t>(entry.info.bytes));
    return tensor;
  }
  std::vector<unsigned char> blocks(static_cast<size_t>(entry.info.bytes));
  state_->source->read(entry.info.offset, blocks.data(), blocks.size());
  dequantize(blocks, *type, static_cast<float*>(data));
  return tensor;
}

namespace {

// A group's scale, perhaps a minimum, and codes become parts of tensors.
void divide(const unsigned char* block, int64_t codes, unsigned char* to_codes, unsigned char* scale,
            unsigned char* minimum) {
  std::memcpy(scale, block, 2);
  if (minimum != nullptr) std::memcpy(minimum, block + 2, 2);
  std::memcpy(to_codes, block + (minimum == nullptr ? 2 : 4), static_cast<size_t>(codes));
}

}  // namespace

std::optional<nn::QuantizedWeight> GgufFile::load_codes(std::string_view name) const {
  act_immediately("GgufFile::load_codes()", {});
  const TensorEntry& entry = state_->at(name);
  const std::string& type = entry.info.type;
  const bool is_byte = type == "Q8_0", has_minimum = type == "Q4_1";
  const std::vector<int64_t>& shape = entry.info.shape;
  if ((!is_byte && !has_minimum && type != "Q4_0") || shape.size() != 2 || shape[1] % 32 != 0) return std::nullopt;
  const int64_t groups = shape[1] / 32, codes = is_byte ? 32 : 16, bytes = codes + (has_minimum ? 4 : 2);
  nn::QuantizedWeight out;
  out.codes = make_tensor(Sizes{shape[0], groups * codes}, is_byte ? Dtype::i8 : Dtype::u8);
  out.scales = make_tensor(Sizes{shape[0], groups}, Dtype::f16);
  if (has_minimum) out.minima = make_tensor(Sizes{shape[0], groups}, Dtype::f16);
  std::vector<unsigned char> blocks(static_cast<size_t>(entry.info.bytes));
  state_->source->read(entry.info.offset, blocks.data(), blocks.size());
  const auto data = [](const Tensor& tensor) { return reinterpret_cast<unsigned char*>(tensor.impl()->data()); };
  for (int64_t i = 0; i < shape[0] * groups; ++i)
    divide(blocks.data() + i * bytes, codes, data(out.codes) + i * codes, data(out.scales) + 2 * i,
           has_minimum ? data(out.minima) + 2 * i : nullptr);
  return out;
}

bool GgufFile::has(std::string_view key) const { return state_->header.values.contains(key); }

int64_t GgufFile::integer(std::string_view key, int64_t otherwise) const {
  const auto* value = state_->value<int64_t>(key, "an integer");
  return value == nullptr ? otherwise : *value;
}
double GgufFile::number(std::string_view key, double otherwise) const {
  const auto* value = state_->value<double>(key, "a number");
  return value == nullptr ? otherwise : *value;
}
bool GgufFile::boolean(std::string_view key, bool otherwise) const {
  const auto* value = state_->value<bool>(key, "true or false");
  return value == nullptr ? otherwise : *value;
}
std::string GgufFile::string(std::string_view key, std::string_view otherwise) const {
  const auto* value = state_->value<std::string>(key, "a text");
  return value == nullptr ? std::string(otherwise) : *value;
}
std::vector<std::string> GgufFile::strings(std::string_view key) const {
  return state_->list<std::string>(key, "a list of texts");
}
std::vector<int64_t> GgufFile::integers(std::string_view key) const {
  return state_->list<int64_t>(key, "a list of integers");
}
std::vector<double> GgufFile::numbers(std::string_view key) const {
  return state_->list<double>(key, "a list of numbers");
}

}  // namespace fulgurite::hub
