#include "hub/gguf/gguf_header.h"

#include <cstring>
#include <set>

#include <fulgurite/error.h>

#include "hub/gguf/block_types.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::hub::gguf {

namespace {

enum class Kind : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

constexpr uint64_t default_alignment = 32;

class Reader {
 public:
  explicit Reader(const ByteSource& source) : bytes_(source), size_(source.size()) {}

  uint64_t position() const { return at_; }

  template <class T>
  T get() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  std::string string() {
    std::string out(checked_count(get<uint64_t>(), 1), '\0');
    take(out.data(), out.size());
    return out;
  }
  /// The length of a list whose items have at least so many bytes: the file must be long enough.
  size_t checked_count(uint64_t count, uint64_t item_bytes) const {
    if (count > (size_ - at_) / item_bytes) throw UserError("it is truncated, or a length in its header is wrong");
    return static_cast<size_t>(count);
  }

  Value value(Kind kind) {
    switch (kind) {
      case Kind::f32: return static_cast<double>(get<float>());
      case Kind::f64: return get<double>();
      case Kind::boolean: return get<uint8_t>() != 0;
      case Kind::string: return string();
      case Kind::array: return list();
      default: return integer(kind);
    }
  }

 private:
  void take(void* to, size_t count) {
    if (count > size_ - at_) throw UserError("it is truncated");
    bytes_.read(at_, to, count);
    at_ += count;
  }
  int64_t integer(Kind kind) {
    switch (kind) {
      case Kind::u8: return get<uint8_t>();
      case Kind::i8: return get<int8_t>();
      case Kind::u16: return get<uint16_t>();
      case Kind::i16: return get<int16_t>();
      case Kind::u32: return get<uint32_t>();
      case Kind::i32: return get<int32_t>();
      case Kind::u64:
      case Kind::i64: return get<int64_t>();
      case Kind::boolean: return get<uint8_t>() != 0;
      default: throw UserError("a value in its header is of an unknown type");
    }
  }
  template <class T, class Read>
  std::vector<T> items(size_t count, const Read& read) {
    std::vector<T> out;
    out.reserve(count);
    for (size_t i = 0; i < count; ++i) out.push_back(read());
    return out;
  }
  Value list() {
    const auto kind = static_cast<Kind>(get<uint32_t>());
    const size_t count = checked_count(get<uint64_t>(), kind == Kind::string ? 8 : 1);
    switch (kind) {
      case Kind::array: throw UserError("its header has a list of lists, which is not supported");
      case Kind::string: return items<std::string>(count, [&] { return string(); });
      case Kind::f32: return items<double>(count, [&] { return static_cast<double>(get<float>()); });
      case Kind::f64: return items<double>(count, [&] { return get<double>(); });
      default: return items<int64_t>(count, [&] { return integer(kind); });
    }
  }

  BufferedReader bytes_;
  uint64_t size_, at_ = 0;
};

void check_beginning(Reader& reader) {
  if (reader.get<uint32_t>() != 0x46554747) throw UserError("it does not begin with \"GGUF\"");
  const auto version = reader.get<uint32_t>();
  if (version < 2 || version > 3) throw UserError(text::cat("its version is ", version, "; versions 2 and 3 are read"));
}

// Dimensions are stored from the innermost.
TensorEntry read_tensor(Reader& reader) {
  TensorEntry out;
  out.name = reader.string();
  const auto dims = reader.get<uint32_t>();
  const auto fail = [&](std::string_view what) {
    throw UserError(text::cat("tensor ", printable(out.name), " has ", what));
  };
  if (dims > 4) fail("more than four dimensions");
  uint64_t count = 1;
  for (uint32_t i = 0; i < dims; ++i) {
    const auto size = reader.get<uint64_t>();
    if (size > uint64_t{1} << 40 || count > (uint64_t{1} << 48) / std::max<uint64_t>(size, 1))
      fail("too many elements");
    count *= size;
    out.info.shape.insert(out.info.shape.begin(), static_cast<int64_t>(size));
  }
  out.type = reader.get<uint32_t>();
  out.info.offset = reader.get<uint64_t>();
  const BlockType* type = find_type(out.type);
  if (type == nullptr) return out;
  out.info.type = type->name;
  const auto elements = static_cast<uint64_t>(type->elements);
  if (elements > 1 && (dims == 0 || out.info.shape.back() % type->elements != 0))
    fail(text::cat("rows that are not whole blocks of ", type->name));
  out.info.bytes = count / elements * static_cast<uint64_t>(type->bytes);
  return out;
}

uint64_t alignment_of(const Header& header) {
  const auto at = header.values.find("general.alignment");
  if (at == header.values.end()) return default_alignment;
  const int64_t* value = std::get_if<int64_t>(&at->second);
  if (value == nullptr || *value < 1 || *value > 1 << 20) throw UserError("its alignment is not valid");
  return static_cast<uint64_t>(*value);
}

}  // namespace

Header read_header(const ByteSource& source) {
  Reader reader(source);
  check_beginning(reader);
  const auto tensor_count = reader.get<uint64_t>(), value_count = reader.get<uint64_t>();
  Header header;
  for (size_t i = 0; i < value_count; ++i) {
    reader.checked_count(value_count - i, 12);
    std::string key = reader.string();
    const auto kind = static_cast<Kind>(reader.get<uint32_t>());
    if (!header.values.emplace(key, reader.value(kind)).second)
      throw UserError(text::cat("its header has ", printable(key), " twice"));
  }
  std::set<std::string> names;
  for (size_t i = 0; i < tensor_count; ++i) {
    reader.checked_count(tensor_count - i, 24);
    header.tensors.push_back(read_tensor(reader));
    const std::string& name = header.tensors.back().name;
    if (!names.insert(name).second) throw UserError(text::cat("its header has tensor ", printable(name), " twice"));
  }
  const uint64_t alignment = alignment_of(header);
  const uint64_t data = (reader.position() + alignment - 1) / alignment * alignment;
  for (TensorEntry& tensor : header.tensors) {
    GgufInfo& info = tensor.info;
    if (data > source.size() || info.offset > source.size() - data || info.bytes > source.size() - data - info.offset)
      throw UserError(text::cat("it is truncated: tensor ", printable(tensor.name), " ends behind it"));
    info.offset += data;
  }
  return header;
}

}  // namespace fulgurite::hub::gguf
