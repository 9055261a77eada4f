#include <algorithm>
#include <filesystem>

#include <fulgurite/datasets.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "io/byte_source.h"
#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::data {

namespace {

// The codes of elements in the third byte.
std::optional<Dtype> dtype_of_code(unsigned char code) {
  switch (code) {
    case 0x08: return Dtype::u8;
    case 0x09: return Dtype::i8;
    case 0x0B: return Dtype::i16;
    case 0x0C: return Dtype::i32;
    case 0x0D: return Dtype::f32;
    case 0x0E: return Dtype::f64;
    default: return {};
  }
}

Tensor read_array(const ByteSource& source) {
  unsigned char start[4] = {};
  if (source.size() < sizeof start) throw UserError("it is too short for an IDX file");
  source.read(0, start, sizeof start);
  if (start[0] == 0x1F && start[1] == 0x8B) throw UserError("it is compressed; unpack it with gunzip");
  const std::optional<Dtype> dtype = dtype_of_code(start[2]);
  if (start[0] != 0 || start[1] != 0 || !dtype) throw UserError("it does not begin as an IDX file does");
  const uint64_t dims = start[3], begin = sizeof start + 4 * dims;
  std::vector<unsigned char> bytes(static_cast<size_t>(4 * dims));
  if (source.size() < begin) throw UserError("it ends within the header");
  source.read(sizeof start, bytes.data(), bytes.size());
  Sizes sizes;
  int64_t count = 1;
  for (size_t d = 0; d < dims; ++d) {
    int64_t size = 0;
    for (size_t i = 0; i < 4; ++i) size = size << 8 | bytes[4 * d + i];
    sizes.push_back(size);
    if (__builtin_mul_overflow(count, size, &count)) throw UserError("its header declares too many elements");
  }
  const int64_t width = size_of(*dtype);
  if (static_cast<uint64_t>(count) != (source.size() - begin) / static_cast<uint64_t>(width))
    throw UserError(text::cat("its header declares ", count, " elements of ", width, " bytes, and ",
                              source.size() - begin, " bytes follow"));
  Tensor out = make_tensor(sizes, *dtype);
  char* const data = reinterpret_cast<char*>(out.impl()->data());
  source.read(begin, data, static_cast<size_t>(count * width));
  for (int64_t i = 0; width > 1 && i < count; ++i) std::reverse(data + i * width, data + (i + 1) * width);
  return out;
}

// The file's name has a hyphen or a dot before idx.
std::string path_of(const std::string& folder, const std::string& set, const std::string& dims) {
  const std::string dotted = text::cat(folder, "/", set, ".", dims, "-ubyte");
  return std::filesystem::exists(dotted) ? dotted : text::cat(folder, "/", set, "-", dims, "-ubyte");
}

}  // namespace

Tensor read_idx(const std::string& path, SourceLocation at) {
  act_immediately("data::read_idx()", at);
  const auto source = open_file(path);
  try {
    return read_array(*source);
  } catch (const UserError& error) {
    throw UserError(text::cat(path, " cannot be read: ", error.what()), at);
  }
}

MNIST::MNIST(const std::string& folder, bool train, SourceLocation at) {
  const std::string set = train ? "train" : "t10k";
  images_ = read_idx(path_of(folder, set + "-images", "idx3"), at);
  targets_ = read_idx(path_of(folder, set + "-labels", "idx1"), at).to(Dtype::i64, at);
  if (images_.ndim() != 3 || targets_.ndim() != 1 || images_.size(0) != targets_.size(0))
    throw UserError(
        text::cat("MNIST: the images of ", folder, " are ", type_text(images_), ", the classes ", type_text(targets_)),
        at);
}

std::pair<Tensor, int64_t> MNIST::get(int64_t index) const {
  if (index < 0 || index >= size()) data_detail::refuse_index(index, size(), SourceLocation());
  const Tensor image = mul(unsqueeze(images_(index), 0).to(Dtype::f32), 1.0 / 255);
  return {image, targets_(index).item<int64_t>()};
}

std::pair<Tensor, Tensor> MNIST::get_batch(const std::vector<int64_t>& indices) const {
  const Tensor rows = tensor(indices);
  const Tensor images = mul(unsqueeze(index_select(images_, 0, rows), 1).to(Dtype::f32), 1.0 / 255);
  return {images, index_select(targets_, 0, rows)};
}

}  // namespace fulgurite::data
