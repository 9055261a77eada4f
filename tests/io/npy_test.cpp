#include <fulgurite/error.h>
#include <fulgurite/npy.h>
#include <fulgurite/fulgurite.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A file of version 1 with this dictionary, padded as NumPy pads it.
std::string npy_bytes(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary;
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

void refuses(const std::string& bytes, const std::string& message, SourceLocation at = SourceLocation::here()) {
  expect_error([&] { load_npy(bytes_of(bytes)); }, "the memory given cannot be read: " + message, at);
}

template <class T>
void round_trip(const TestFolder& folder, const Tensor& x) {
  save_npy(folder.file("x.npy"), x);
  const Tensor back = load_npy(folder.file("x.npy"));
  expect_equal(back.dtype(), x.dtype());
  expect_equal(back.shape(), x.shape());
  expect_equal(back.to_vector<T>(), x.contiguous().to_vector<T>());
}

}  // namespace

TEST("a saved array has NumPy's bytes") {
  const TestFolder folder;
  save_npy(folder.file("x.npy"), tensor({1, 2, 3}, {.dtype = Dtype::i16}).reshape({3, 1}));
  std::string expected("\x93NUMPY\x01\x00v\x00", 10);
  expected += "{'descr': '<i2', 'fortran_order': False, 'shape': (3, 1), }";
  expected.append(128 - expected.size() - 1, ' ');
  expected += '\n';
  expected += std::string("\1\0\2\0\3\0", 6);
  expect_equal(content_of(folder.file("x.npy")), expected);
}

TEST("arrays of every dtype, of no dimension, no elements and other strides are read back") {
  const TestFolder folder;
  round_trip<double>(folder, randn({3, 4}, {.dtype = Dtype::f64}));
  round_trip<float>(folder, randn({3, 4}).t());
  round_trip<float>(folder, randn({5, 4, 3})(Slice({}, {}, 2)));
  round_trip<int64_t>(folder, arange(5));
  round_trip<int32_t>(folder, arange(5).to(Dtype::i32));
  round_trip<int8_t>(folder, arange(5).to(Dtype::i8));
  round_trip<uint8_t>(folder, arange(5).to(Dtype::u8));
  round_trip<bool>(folder, tensor({true, false}));
  round_trip<float>(folder, tensor(2.5f));
  round_trip<float>(folder, zeros({0, 3}));
  const Tensor half = randn({7}).to(Dtype::f16);
  save_npy(folder.file("h.npy"), half);
  expect_equal(equal(load_npy(folder.file("h.npy")), half), true);
}

TEST("a saved array has the values of a tensor with history") {
  const TestFolder folder;
  const Tensor x = tensor({1.0f, 2.0f}, {.requires_grad = true});
  save_npy(folder.file("x.npy"), x * 2);
  const Tensor back = load_npy(folder.file("x.npy"));
  expect_equal(back.requires_grad(), false);
  expect_equal(back.to_vector<float>(), std::vector<float>{2, 4});
}

TEST("arrays in Fortran's order, of the other byte order and of other versions are read") {
  const std::string data("\0\1\0\2\0\3\0\4\0\5\0\6", 12);
  const Tensor x = load_npy(bytes_of(npy_bytes("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", data)));
  expect_equal(x.dtype(), Dtype::i16);
  expect_equal(x.is_contiguous(), true);
  expect_equal(x.to_vector<int16_t>(), std::vector<int16_t>{1, 3, 5, 2, 4, 6});
  std::string later = npy_bytes("{\"shape\": (2L,), \"descr\": \"|u1\", \"fortran_order\": False}", "\7\10");
  later = later.substr(0, 6) + std::string("\3\0", 2) + later.substr(8, 2) + std::string(2, '\0') + later.substr(10);
  expect_equal(load_npy(bytes_of(later)).to_vector<uint8_t>(), std::vector<uint8_t>{7, 8});
}

TEST("unsigned integers are widened, and bytes that are not 0 are true") {
  const auto load = [](const std::string& descr, const std::string& shape, const std::string& data) {
    return load_npy(
        bytes_of(npy_bytes("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data)));
  };
  const Tensor u16 = load("<u2", "(2,)", std::string("\xff\xff\1\0", 4));
  expect_equal(u16.dtype(), Dtype::i32);
  expect_equal(u16.to_vector<int32_t>(), std::vector<int32_t>{65535, 1});
  const Tensor u32 = load("<u4", "()", std::string("\xff\xff\xff\xff", 4));
  expect_equal(u32.dtype(), Dtype::i64);
  expect_equal(u32.item<int64_t>(), int64_t{4294967295});
  expect_equal(load("<u8", "(1,)", std::string("\1\0\0\0\0\0\0\0", 8)).to_vector<int64_t>(), std::vector<int64_t>{1});
  expect_error([&] { load("<u8", "(1,)", std::string(8, '\xff')); },
               "its element 0 is 18446744073709551615, which is larger than an i64 can be");
  expect_equal(load("|b1", "(3,)", std::string("\0\1\2", 3)).to_vector<bool>(), std::vector<bool>{false, true, true});
}

TEST("files of other kinds are refused with what they are") {
  const auto of = [](const std::string& dictionary) { return npy_bytes(dictionary, std::string(8, '\0')); };
  refuses("", "it is too short for a .npy file");
  refuses("PK\3\4 and an archive", "it does not begin as a .npy file does");
  refuses(std::string("\x93NUMPY\x09\x00\x10\x00\x00\x00", 12), "its format has the version 9; 1, 2 and 3 can be read");
  refuses(std::string("\x93NUMPY\x01\x00\x10\x00\x00\x00", 12), "it ends within the header");
  refuses(of("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
          "it holds Python objects, which are stored as a pickle; a pickle can run code and is never read");
  refuses(of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"),
          "it holds records of several fields, which a tensor cannot; save the fields one by one");
  refuses(of("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"),
          "its elements '<c8' are not numbers that a tensor holds");
  refuses(of("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"),
          "its header declares 3 elements of 4 bytes, and 8 bytes follow");
  refuses(of("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"),
          "its header declares too many elements");
  refuses(of("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"),
          "its header cannot be read, because a size is not an integer of at least 0");
  refuses(of("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }"),
          "its header cannot be read, because fortran_order is neither True nor False");
  refuses(of("{'descr': '<f4', 'shape': (1,), }"),
          "its header cannot be read, because descr, fortran_order or shape is missing");
  const TestFolder folder;
  expect_error([&] { load_npy(folder.file("none.npy")); }, folder.file("none.npy"));
  expect_error([&] { save_npy(folder.file("x.npy"), ones({2}).to(Dtype::bf16)); },
               folder.file("x.npy") + " was not written: NumPy has no bf16; convert the tensor to f32 first");
  expect_error([&] { save_npy(folder.file("x.npy"), Tensor()); }, "was not written: the tensor is undefined");
  expect_equal(folder.count(), std::ptrdiff_t{0});
}

TEST("every truncated file is refused") {
  const TestFolder folder;
  save_npy(folder.file("x.npy"), arange(4));
  const std::string whole = content_of(folder.file("x.npy"));
  for (size_t size = 0; size < whole.size(); ++size)
    expect_error([&] { load_npy(bytes_of(whole.substr(0, size))); }, "the memory given cannot be read: it");
}

TEST("archives of arrays are read back, stored and compressed, wholly and by name") {
  const TestFolder folder;
  const TensorMap arrays = {{"weights/0", randn({3, 4})}, {"lengths", arange(1000)}, {"empty", zeros({0})}};
  for (const bool compressed : {false, true}) {
    save_npz(folder.file("x.npz"), arrays, {.compressed = compressed});
    const TensorMap back = load_npz(folder.file("x.npz"));
    expect_equal(back.size(), arrays.size());
    for (const auto& [name, array] : arrays) expect_equal(equal(back.at(name), array), true);
    expect_equal(std::filesystem::file_size(folder.file("x.npz")) < 4000, compressed);
    const TensorMap some = load_npz(folder.file("x.npz"), {"lengths"});
    expect_equal(some.size(), size_t{1});
    expect_equal(equal(some.at("lengths"), arange(1000)), true);
    expect_error([&] { load_npz(folder.file("x.npz"), {"width"}); }, folder.file("x.npz") + " has no array \"width\"");
  }
  const std::string first = content_of(folder.file("x.npz"));
  save_npz(folder.file("x.npz"), arrays, {.compressed = true});
  expect_equal(content_of(folder.file("x.npz")) == first, true);
}

TEST("broken archives and names are refused, and a file that exists is kept") {
  const TestFolder folder;
  save_npz(folder.file("x.npz"), {{"a", arange(100)}});
  const std::string whole = content_of(folder.file("x.npz"));
  write_bytes(folder.file("cut.npz"), whole.substr(0, whole.size() / 2));
  expect_error([&] { load_npz(folder.file("cut.npz")); },
               folder.file("cut.npz") + " cannot be read: it is not a whole .npz archive: ");
  std::string changed = whole;
  changed[200] = static_cast<char>(changed[200] ^ 1);
  write_bytes(folder.file("changed.npz"), changed);
  expect_error([&] { load_npz(folder.file("changed.npz")); },
               "array a of " + folder.file("changed.npz") + " cannot be read: ");
  expect_error([&] { load_npz(folder.file("none.npz")); }, folder.file("none.npz"));
  expect_error([&] { save_npz(folder.file("x.npz"), {{"", arange(3)}}); }, "\"\" cannot be the name of an array");
  expect_error([&] { save_npz(folder.file("x.npz"), {{"\xff", arange(3)}}); }, "cannot be the name of an array");
  expect_equal(content_of(folder.file("x.npz")), whole);
}
