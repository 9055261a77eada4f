#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fulgurite/error.h>
#include <fulgurite/io.h>
#include <fulgurite/operators.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

TEST("tensors of every dtype come back as they were saved") {
  const TestFolder folder;
  TensorMap tensors;
  for (int i = 0; i < dtype_count; ++i) {
    const Dtype dtype = static_cast<Dtype>(i);
    tensors[std::string(name(dtype))] = arange(6).to(dtype).reshape({2, 3});
  }
  tensors["empty"] = zeros({0, 4});
  tensors["scalar"] = tensor(2.5);
  tensors["transposed \"quoted\""] = transpose(tensors["f32"], 0, 1);
  save_safetensors(folder.file(), tensors, {{"step", "12"}});
  const TensorMap loaded = load_safetensors(folder.file());
  expect_equal(loaded.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const Tensor& other = loaded.at(name);
    expect(other.dtype() == tensor.dtype() && other.shape() == tensor.shape(), name);
    expect(other.to(Dtype::f64).to_vector<double>() == tensor.to(Dtype::f64).contiguous().to_vector<double>(), name);
  }
  expect_equal(load_safetensors_metadata(folder.file()).at("step"), std::string("12"));
}

TEST("a save replaces the file and leaves nothing beside it") {
  const TestFolder folder;
  save_safetensors(folder.file(), {{"a", ones({2})}});
  save_safetensors(folder.file(), {{"b", ones({3})}});
  expect_equal(load_safetensors(folder.file()).size(), 1u);
  expect_error([&] { save_safetensors(folder.path + "/none/x", {{"a", ones({2})}}); }, "cannot write");
}

TEST("a write that fails halfway leaves the old file and nothing beside it") {
  const TestFolder folder;
  save_safetensors(folder.file(), {{"old", ones({2})}});
  rlimit usual;
  ::getrlimit(RLIMIT_FSIZE, &usual);
  const rlimit small{1000, usual.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  expect_error([&] { save_safetensors(folder.file(), {{"new", ones({1000})}}); }, "cannot write " + folder.file());
  ::setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, handler);
  expect_equal(load_safetensors(folder.file()).count("old"), 1);
  expect_equal(std::distance(std::filesystem::directory_iterator(folder.path), std::filesystem::directory_iterator()),
               1);
}

TEST("each tensor's data are aligned to its elements") {
  const TestFolder folder;
  save_safetensors(folder.file(), {{"a", ones({3}).to(Dtype::boolean)},
                                   {"b", ones({3}).to(Dtype::bf16)},
                                   {"c", ones({3})},
                                   {"d", ones({1}).to(Dtype::f64)}});
  std::ifstream in(folder.file(), std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t d = content.find("\"d\""), c = content.find("\"c\""), b = content.find("\"b\""),
               a = content.find("\"a\"");
  expect(d < c && c < b && b < a && a != std::string::npos, content.substr(8, 300));
  expect(content.find("\"data_offsets\": [0, 8]", d) < c && content.find("\"data_offsets\": [8, 20]", c) < b);
  expect_different(content.find("\"data_offsets\": [26, 29]", a), std::string::npos);
  expect_equal((content.size() - 29) % 8, size_t{0});
}

TEST("a BOOL that is neither 0 nor 1 is refused") {
  const TestFolder folder;
  const std::string header = R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})";
  write_bytes(folder.file(), safetensors_bytes(header, std::string("\0\1\1", 3)));
  expect_equal(load_safetensors(folder.file()).at("a").numel(), 3);
  write_bytes(folder.file(), safetensors_bytes(header, std::string("\0\2\1", 3)));
  expect_error([&] { load_safetensors(folder.file()); }, "BOOL that is neither 0 nor 1");
}

TEST("names and metadata that could not be read back are refused, and nothing is written") {
  const TestFolder folder;
  const auto refuses = [&](const TensorMap& tensors, const Metadata& metadata, const std::string& message) {
    expect_error([&] { save_safetensors(folder.file(), tensors, metadata); }, message);
    expect_equal(folder.count(), 0);
  };
  const Tensor a = ones({2});
  refuses({{"__metadata__", a}}, {}, "a tensor cannot be saved as __metadata__");
  refuses({{"a\xff", a}, {"a\xfe", a}}, {}, "it is not UTF-8");
  refuses({{"\xed\xa0\x80", a}}, {}, "it is not UTF-8");  // half a surrogate pair
  refuses({{"\xc0\x80", a}}, {}, "it is not UTF-8");      // overlong
  refuses({{"a", a}}, {{"\xff", "b"}}, "the name of metadata");
  refuses({{"a", a}}, {{"b", "\xff"}}, "the metadata b = ");
  refuses({{"a", Tensor()}}, {}, "tensor a to be saved is undefined");
}

TEST("names and metadata of any UTF-8 come back") {
  const TestFolder folder;
  const TensorMap tensors{
      {"", ones({1})}, {"層.權重", ones({2})}, {std::string("a\0b", 3), ones({3})}, {"\n\"\\/\x01", ones({4})}};
  const Metadata metadata{{"", ""}, {"ключ", "😀\n"}, {"__metadata__", "x"}};
  save_safetensors(folder.file(), tensors, metadata);
  expect_equal(load_safetensors_metadata(folder.file()), metadata);
  const TensorMap loaded = load_safetensors(folder.file());
  expect_equal(loaded.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) expect_equal(loaded.at(name).numel(), tensor.numel());
}
