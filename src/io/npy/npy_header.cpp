#include "io/npy/npy_header.h"

#include <limits>
#include <optional>

#include <fulgurite/error.h>

#include "support/text/text.h"
#include "support/text/utf8.h"

namespace fulgurite::npy {

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr uint64_t version_bytes = 2, alignment = 64;

// The header is a dictionary as Python writes it: names in quotes, True, False, a tuple of integers.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Header dictionary() {
    demand('{');
    while (!take('}')) {
      const std::string key = quoted();
      demand(':');
      if (key == "descr") element_ = element_type();
      else if (key == "fortran_order") order_ = boolean();
      else if (key == "shape") shape_ = tuple();
      else fail(text::cat("of the unknown entry '", printable(key), "'"));
      if (!take(',') && peek() != '}') fail("of a missing comma");
    }
    if (peek() != '\0') fail("something follows the dictionary");
    if (!element_ || !order_ || !shape_) fail("descr, fortran_order or shape is missing");
    return {*element_, *order_, *shape_, 0};
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    throw UserError(text::cat("its header cannot be read, because ", reason));
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void demand(char wanted) {
    if (!take(wanted)) fail(text::cat("'", wanted, "' is missing"));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("a text in quotes is missing");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a text in quotes does not end");
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    fail("fortran_order is neither True nor False");
  }
  int64_t integer() {
    peek();
    int64_t value = 0;
    const size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (value > (std::numeric_limits<int64_t>::max() - 9) / 10) fail("a size is too large");
      value = value * 10 + (text_[at_] - '0');
    }
    if (at_ == begin) fail("a size is not an integer of at least 0");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
    return value;
  }
  std::vector<int64_t> tuple() {
    demand('(');
    std::vector<int64_t> out;
    while (!take(')')) {
      out.push_back(integer());
      if (!take(',') && peek() != ')') fail("of a missing comma");
    }
    return out;
  }
  ElementType element_type() {
    if (peek() == '[')
      throw UserError("it holds records of several fields, which a tensor cannot; save the fields one by one");
    const std::string descr = quoted();
    const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
    const std::string_view type = std::string_view(descr).substr(has_order ? 1 : 0);
    if (type.substr(0, 1) == "O")
      throw UserError("it holds Python objects, which are stored as a pickle; a pickle can run code and is never read");
    const bool is_number = type.size() == 2 && std::string_view("fiub").find(type[0]) != std::string_view::npos;
    if (!is_number || type[1] < '1' || type[1] > '8')
      throw UserError(text::cat("its elements '", printable(descr), "' are not numbers that a tensor holds"));
    return {type[0], type[1] - '0', has_order && descr[0] == '>'};
  }

  std::string_view text_;
  size_t at_ = 0;
  std::optional<ElementType> element_;
  std::optional<bool> order_;
  std::optional<std::vector<int64_t>> shape_;
};

// The bytes of the header's length: 2 in version 1, 4 later.
uint64_t length_bytes(std::string_view start) { return start[magic.size()] == 1 ? 2 : 4; }

uint64_t length_of(std::string_view start) {
  uint64_t length = 0;
  for (uint64_t i = 0; i < length_bytes(start); ++i)
    length |= static_cast<uint64_t>(static_cast<unsigned char>(start[magic.size() + version_bytes + i])) << (8 * i);
  return length;
}

std::string_view descr_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return "<f8";
    case Dtype::f32: return "<f4";
    case Dtype::f16: return "<f2";
    case Dtype::i64: return "<i8";
    case Dtype::i32: return "<i4";
    case Dtype::i16: return "<i2";
    case Dtype::i8: return "|i1";
    case Dtype::u8: return "|u1";
    case Dtype::boolean: return "|b1";
    case Dtype::bf16: break;
  }
  throw UserError("NumPy has no bf16; convert the tensor to f32 first");
}

}  // namespace

int64_t Header::numel() const {
  int64_t count = 1;
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) throw UserError("its header declares too many elements");
  return count;
}

uint64_t header_bytes(std::string_view start) {
  if (start.substr(0, magic.size()) != magic) throw UserError("it does not begin as a .npy file does");
  const uint64_t fixed = magic.size() + version_bytes;
  if (start.size() < fixed + 4) throw UserError("it ends within the header");
  const char version = start[magic.size()];
  if (version < 1 || version > 3)
    throw UserError(text::cat("its format has the version ", static_cast<int>(version), "; 1, 2 and 3 can be read"));
  return fixed + length_bytes(start) + length_of(start);
}

Header parse_header(std::string_view start, uint64_t size) {
  const uint64_t begin = header_bytes(start);
  if (begin > size) throw UserError("it ends within the header");
  const uint64_t fixed = magic.size() + version_bytes + length_bytes(start);
  Header header = Parser(start.substr(fixed, begin - fixed)).dictionary();
  header.data_begin = begin;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(header.numel(), header.element.bytes, &bytes) ||
      static_cast<uint64_t>(bytes) > size - begin)
    throw UserError(text::cat("its header declares ", header.numel(), " elements of ", header.element.bytes,
                              " bytes, and ", size - begin, " bytes follow"));
  return header;
}

std::string header_text(const std::vector<int64_t>& shape, Dtype dtype) {
  std::string sizes = text::join(shape, [](int64_t size) { return std::to_string(size); });
  if (shape.size() == 1) sizes += ",";
  std::string dictionary =
      text::cat("{'descr': '", descr_of(dtype), "', 'fortran_order': False, 'shape': (", sizes, "), }");
  const uint64_t fixed = magic.size() + version_bytes + 2;
  dictionary.append(alignment - (fixed + dictionary.size() + 1) % alignment, ' ');
  dictionary += '\n';
  std::string out(magic);
  out += '\1';
  out += '\0';
  out += static_cast<char>(dictionary.size() & 255);
  out += static_cast<char>(dictionary.size() >> 8);
  return out + dictionary;
}

Dtype dtype_of(const ElementType& element) {
  const auto [kind, bytes, is_big_endian] = element;
  if (kind == 'f') {
    if (bytes == 8) return Dtype::f64;
    if (bytes == 4) return Dtype::f32;
    if (bytes == 2) return Dtype::f16;
  } else if (kind == 'b' && bytes == 1) {
    return Dtype::boolean;
  } else if (bytes == 1) {
    return kind == 'u' ? Dtype::u8 : Dtype::i8;
  } else if (bytes == 2) {
    return kind == 'u' ? Dtype::i32 : Dtype::i16;
  } else if (bytes == 4) {
    return kind == 'u' ? Dtype::i64 : Dtype::i32;
  } else if (bytes == 8) {
    return Dtype::i64;
  }
  throw UserError(text::cat("its elements '", kind, bytes, "' are not numbers that a tensor holds"));
}

}  // namespace fulgurite::npy
