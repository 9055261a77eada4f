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

#include "support/test.h"

using namespace fulgurite;

namespace {

// A folder that is gone when the test ends.
struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/fulgurite_io_XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() {
    std::remove(file().c_str());
    ::rmdir(path.c_str());
  }
  std::string file() const { return path + "/x.safetensors"; }
};

void write(const std::string& path, const std::string& header, const std::string& data, uint64_t length = 0) {
  std::ofstream out(path, std::ios::binary);
  if (length == 0) length = header.size();
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>(length >> (8 * i)));
  out << header << data;
}

}  // namespace

TEST("tensors of every dtype come back as they were saved") {
  const Folder folder;
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
  const Folder folder;
  save_safetensors(folder.file(), {{"a", ones({2})}});
  save_safetensors(folder.file(), {{"b", ones({3})}});
  expect_equal(load_safetensors(folder.file()).size(), 1u);
  expect_error([&] { save_safetensors(folder.path + "/none/x", {{"a", ones({2})}}); }, "cannot write");
}

TEST("files that are not whole are refused by name") {
  const Folder folder;
  const auto refuses = [&](const std::string& header, const std::string& data, const std::string& message,
                           uint64_t length = 0) {
    write(folder.file(), header, data, length);
    expect_error([&] { load_safetensors(folder.file()); }, message);
    expect_error([&] { load_safetensors(folder.file()); }, folder.file());
  };
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  write(folder.file(), good, std::string(8, '\0'));
  expect_equal(load_safetensors(folder.file()).size(), 1u);
  refuses(good, std::string(7, '\0'), "cut short");
  refuses(good, std::string(9, '\0'), "left over");
  refuses(good, "", "header's length", 1'000'000);
  refuses(good, "", "header's length", ~uint64_t{0});
  refuses("{\"a\":", "", "");
  refuses("[]", "", "not an object");
  refuses(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", std::string(8, '\0'), "F99");
  refuses(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", std::string(8, '\0'), "whole number");
  refuses(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", std::string(8, '\0'), "do not fit");
  refuses(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", std::string(8, '\0'), "increasing");
  refuses(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", std::string(8, '\0'), "");
  refuses(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      std::string(12, '\0'), "overlaps");
  expect_error([&] { load_safetensors(folder.path + "/none"); }, "cannot read");
}

TEST("a write that fails halfway leaves the old file and nothing beside it") {
  const Folder folder;
  save_safetensors(folder.file(), {{"old", ones({2})}});
  rlimit usual;
  ::getrlimit(RLIMIT_FSIZE, &usual);
  const rlimit small{1000, usual.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  expect_error([&] { save_safetensors(folder.file(), {{"new", ones({1000})}}); }, "cannot write " + folder.file());
  ::setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, handler);
  expect(load_safetensors(folder.file()).count("old") == 1);
  expect_equal(std::distance(std::filesystem::directory_iterator(folder.path), std::filesystem::directory_iterator()),
               1);
}

TEST("each tensor's data are aligned to its elements") {
  const Folder folder;
  save_safetensors(folder.file(), {{"a", ones({3}).to(Dtype::boolean)},
                                   {"b", ones({3}).to(Dtype::bf16)},
                                   {"c", ones({3})},
                                   {"d", ones({1}).to(Dtype::f64)}});
  std::ifstream in(folder.file(), std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t d = content.find("\"d\""), c = content.find("\"c\""), b = content.find("\"b\""), a = content.find("\"a\"");
  expect(d < c && c < b && b < a && a != std::string::npos, content.substr(8, 300));
  expect(content.find("\"data_offsets\": [0, 8]", d) < c && content.find("\"data_offsets\": [8, 20]", c) < b);
  expect(content.find("\"data_offsets\": [26, 29]", a) != std::string::npos);
  expect_equal((content.size() - 29) % 8, size_t{0});
}

TEST("a BOOL that is neither 0 nor 1 is refused") {
  const Folder folder;
  const std::string header = R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})";
  write(folder.file(), header, std::string("\0\1\1", 3));
  expect_equal(load_safetensors(folder.file()).at("a").numel(), 3);
  write(folder.file(), header, std::string("\0\2\1", 3));
  expect_error([&] { load_safetensors(folder.file()); }, "BOOL that is neither 0 nor 1");
}

TEST("a header that is nested without end is refused") {
  const Folder folder;
  write(folder.file(), std::string(100'000, '[') + std::string(100'000, ']'), "");
  expect_error([&] { load_safetensors(folder.file()); }, "nested too deeply");
}
