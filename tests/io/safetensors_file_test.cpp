#include <cstring>

#include <thread>

#include <fulgurite/error.h>
#include <fulgurite/io.h>
#include <fulgurite/operators.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST("a file lists its tensors and reads them one by one") {
  const TestFolder folder;
  save_safetensors(folder.file(),
                   {{"w", arange(6).reshape({2, 3})}, {"b", tensor({1.5, 2.5})}, {"none", zeros({0, 4})}},
                   {{"k", "v"}});
  const SafetensorsFile file(folder.file());
  expect_equal(file.names().size(), 3u);
  expect(file.contains("w") && !file.contains("x") && !file.contains("__metadata__"));
  const SafetensorsInfo& info = file.info("w");
  expect_equal(info.dtype, std::string("I64"));
  expect(info.shape == std::vector<int64_t>{2, 3} && info.bytes == 48 && info.loads_as == Dtype::i64);
  expect_equal(file.metadata().at("k"), std::string("v"));
  expect_equal(file.load("b").to_vector<float>(), std::vector<float>{1.5f, 2.5f});
  expect_equal(file.load("w").to_vector<int64_t>(), std::vector<int64_t>{0, 1, 2, 3, 4, 5});
  expect_equal(file.load("none").shape().text(), std::string("[0, 4]"));
  expect_error([&] { file.load("x"); }, folder.file() + " has no tensor \"x\"");
  expect_error([&] { file.info("x"); }, "has no tensor \"x\"");
}

TEST("some tensors are read without the others") {
  const TestFolder folder;
  save_safetensors(folder.file(), {{"a", ones({1})}, {"b", ones({2})}, {"c", ones({3})}});
  const TensorMap some = load_safetensors(folder.file(), {"a", "c"});
  expect_equal(some.size(), 2u);
  expect(some.at("a").numel() == 1 && some.at("c").numel() == 3);
  expect_error([&] { load_safetensors(folder.file(), {"a", "d"}); }, "has no tensor \"d\"");
}

TEST("a file's bytes in memory are read like the file") {
  const TestFolder folder;
  save_safetensors(folder.file(), {{"a", arange(4)}, {"b", ones({2})}}, {{"k", "v"}});
  const std::string bytes = content(folder.file());
  const auto span = std::as_bytes(std::span(bytes.data(), bytes.size()));
  const TensorMap tensors = load_safetensors(span);
  expect(tensors.at("a").to_vector<int64_t>() == std::vector<int64_t>{0, 1, 2, 3} && tensors.at("b").numel() == 2);
  const SafetensorsFile file(span);
  expect_equal(file.metadata().at("k"), std::string("v"));
  expect_equal(file.load("b").numel(), 2);
  expect_error([&] { SafetensorsFile(span.first(span.size() - 1)); },
               "the memory given is not a whole safetensors file: the file is cut short");
  expect_error([&] { SafetensorsFile(span.first(0)); }, "it is empty");
}

TEST("tensors of other dtypes are listed, and only they are refused") {
  const struct {
    const char* dtype;
    int elements, bytes;
  } others[] = {{"U16", 1, 2},         {"U32", 1, 4},         {"U64", 1, 8},     {"C64", 1, 8},
                {"F8_E4M3", 1, 1},     {"F8_E5M2", 1, 1},     {"F8_E8M0", 1, 1}, {"F4", 2, 1},
                {"F8_E4M3FNUZ", 1, 1}, {"F8_E5M2FNUZ", 1, 1}, {"F6_E2M3", 4, 3}, {"F6_E3M2", 4, 3}};
  for (const auto& [dtype, elements, bytes] : others) {
    const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"q":{"dtype":")" +
                               std::string(dtype) + R"(","shape":[)" + std::to_string(elements) +
                               R"(],"data_offsets":[4,)" + std::to_string(4 + bytes) + "]}}";
    const TestFolder folder;
    write_bytes(folder.file(), safetensors_bytes(header, std::string("\0\0\xc0\x3f", 4) +
                                                             std::string(static_cast<size_t>(bytes), '\7')));
    const SafetensorsFile file(folder.file());
    expect_equal(file.info("q").dtype, std::string(dtype));
    expect(!file.info("q").loads_as && file.info("q").shape == std::vector<int64_t>{elements}, dtype);
    expect_near(file.load("w").item<double>(), 1.5);
    expect_error([&] { file.load("q"); }, "tensor q has the dtype " + std::string(dtype) + ", which is not supported");
    expect_error([&] { load_safetensors(folder.file(), {"q"}); }, "which is not supported");
    expect(file.load_bytes("q").to_vector<uint8_t>() == std::vector<uint8_t>(static_cast<size_t>(bytes), 7), dtype);
    expect_equal(load_safetensors(folder.file(), {"w"}).size(), 1u);
    const TensorMap all = file.load_all();
    expect(all.size() == 1 && all.contains("w"), dtype);
  }
}

TEST("a BOOL that is neither 0 nor 1 is refused alone") {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"BOOL","shape":[3],"data_offsets":[4,7]}})";
  const std::string bytes = safetensors_bytes(header, std::string("\0\0\0\0\0\2\1", 7));
  const SafetensorsFile file(std::as_bytes(std::span(bytes.data(), bytes.size())));
  expect_equal(file.load("a").numel(), 1);
  expect_error([&] { file.load("b"); }, "tensor b has a BOOL that is neither 0 nor 1");
}

TEST("an open file stays as it was when another one replaces it") {
  const TestFolder folder;
  save_safetensors(folder.file(), {{"a", full({1000}, 1)}});
  const SafetensorsFile file(folder.file());
  save_safetensors(folder.file(), {{"a", full({10}, 2)}});
  expect_near(file.load("a").sum().item<double>(), 1000);
  expect_near(load_safetensors(folder.file()).at("a").sum().item<double>(), 20);
}

TEST("a file that is cut short after it was opened is an error") {
  const TestFolder folder;
  save_safetensors(folder.file(), {{"a", full({1000}, 1)}});
  const SafetensorsFile file(folder.file());
  std::filesystem::resize_file(folder.file(), 2000);
  expect_error([&] { file.load("a"); }, "cut short while it was read");
}

TEST("small tensors and large ones in any order of their data are read") {
  std::string header = "{", data;
  // In the header from the last to the first.
  constexpr int count = 300;
  const auto bytes_of = [](int i) { return i % 50 == 0 ? 1'500'000 : i; };
  std::vector<int> begins;
  int at = 0;
  for (int i = 0; i < count; ++i) {
    begins.push_back(at);
    at += bytes_of(i);
    data += std::string(static_cast<size_t>(bytes_of(i)), static_cast<char>(i % 100));
  }
  for (int i = count; i-- > 0;)
    header += (header.size() > 1 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"I8","shape":[)" +
              std::to_string(bytes_of(i)) + R"(],"data_offsets":[)" + std::to_string(begins[static_cast<size_t>(i)]) +
              "," + std::to_string(begins[static_cast<size_t>(i)] + bytes_of(i)) + "]}";
  const TestFolder folder;
  write_bytes(folder.file(), safetensors_bytes(header + "}", data));
  const TensorMap tensors = load_safetensors(folder.file());
  for (int i = 0; i < count; ++i) {
    const Tensor& tensor = tensors.at(std::to_string(i));
    expect_equal(tensor.numel(), static_cast<int64_t>(bytes_of(i)));
    expect(eq(tensor, i % 100).all().item<bool>(), std::to_string(i));
  }
}

TEST("threads read from one file at the same time") {
  const TestFolder folder;
  TensorMap tensors;
  for (int i = 0; i < 20; ++i) tensors[std::to_string(i)] = full({1000}, i);
  save_safetensors(folder.file(), tensors);
  const SafetensorsFile file(folder.file());
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        for (const int64_t value : file.load(std::to_string(i)).to_vector<int64_t>()) wrong[t] += value != i;
    });
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) expect_equal(count, 0);
}
