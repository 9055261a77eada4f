#include "io/npy/npy_array.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "io/npy/npy_header.h"
#include "ops/tensor/tensor_values.h"
#include "runtime/copy_elements.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::npy {

namespace {

constexpr uint64_t min_bytes = 12;  // magic, version, length

Header read_header(const ByteSource& source) {
  if (source.size() < min_bytes) throw UserError("it is too short for a .npy file");
  std::string start(min_bytes, '\0');
  source.read(0, start.data(), start.size());
  const uint64_t bytes = header_bytes(start);
  if (bytes > source.size()) throw UserError("it ends within the header");
  start.resize(static_cast<size_t>(bytes));
  source.read(0, start.data(), start.size());
  return parse_header(start, source.size());
}

void swap_bytes(char* data, int64_t count, int64_t width) {
  for (int64_t i = 0; i < count; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

// Unsigned elements, widened into the next larger dtype.
template <class From, class To>
void widen(const char* data, int64_t count, void* to) {
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof value), sizeof value);
    if (static_cast<uint64_t>(value) > static_cast<uint64_t>(std::numeric_limits<To>::max()))
      throw UserError(
          text::cat("its element ", i, " is ", std::to_string(value), ", which is larger than an i64 can be"));
    static_cast<To*>(to)[i] = static_cast<To>(value);
  }
}

// A bool must be the byte 0 or 1: kernels rely on it.
void normalize_booleans(unsigned char* data, int64_t count) {
  std::transform(data, data + count, data, [](unsigned char byte) { return byte != 0 ? 1 : 0; });
}

void read_elements(const ByteSource& source, const Header& header, Dtype dtype, void* to) {
  const int64_t count = header.numel(), width = header.element.bytes;
  const bool is_wider = size_of(dtype) != width;
  const bool is_checked = header.element.kind == 'u' && width == 8;
  std::string copy;
  char* data = static_cast<char*>(to);
  if (is_wider || is_checked) {
    copy.resize(static_cast<size_t>(count * width));
    data = copy.data();
  }
  source.read(header.data_begin, data, static_cast<size_t>(count * width));
  if (header.element.is_big_endian && width > 1) swap_bytes(data, count, width);
  if (is_checked) widen<uint64_t, int64_t>(data, count, to);
  else if (is_wider && width == 2) widen<uint16_t, int32_t>(data, count, to);
  else if (is_wider) widen<uint32_t, int64_t>(data, count, to);
  if (dtype == Dtype::boolean) normalize_booleans(static_cast<unsigned char*>(to), count);
}

}  // namespace

Tensor read_array(const ByteSource& source) {
  const Header header = read_header(source);
  const Dtype dtype = dtype_of(header.element);
  Sizes sizes;
  for (const int64_t size : header.shape) sizes.push_back(size);
  if (header.is_fortran_order) std::reverse(sizes.begin(), sizes.end());
  Tensor out = make_tensor(sizes, dtype);
  read_elements(source, header, dtype, out.impl()->data());
  if (!header.is_fortran_order || sizes.size() < 2) return out;
  Shape order;
  for (size_t i = sizes.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  return out.permute(order).contiguous();
}

void write_array(const Tensor& tensor, const char* function,
                 const std::function<void(const void* data, size_t bytes)>& write) {
  if (!tensor.defined()) throw UserError("the tensor is undefined");
  const TensorImpl& impl = demand_elements(tensor, function, {});
  const std::vector<int64_t> shape(impl.sizes.begin(), impl.sizes.end());
  const std::string header = header_text(shape, impl.dtype);
  Tensor rows = tensor;
  if (!impl.is_contiguous) {
    rows = make_tensor(impl.sizes, impl.dtype);
    copy_elements(tensor, rows);
  }
  write(header.data(), header.size());
  write(rows.impl()->data(), static_cast<size_t>(impl.numel() * size_of(impl.dtype)));
}

}  // namespace fulgurite::npy
