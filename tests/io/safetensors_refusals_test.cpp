#include <ctime>

#include <sys/stat.h>

#include <fulgurite/error.h>
#include <fulgurite/io.h>
#include <fulgurite/operators.h>

#include "io/test_folder.h"
#include "support/test.h"

using namespace fulgurite;

namespace {

const std::string f32 = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
const std::string i32 = R"({"dtype":"I32","shape":[1],"data_offsets":[0,4]})";

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void refuses(const std::string& header, const std::string& message, const std::string& data = std::string(4, '\0'),
             uint64_t length = 0, SourceLocation at = SourceLocation::here()) {
  const TestFolder folder;
  const std::string bytes = safetensors_bytes(header, data, length);
  write_bytes(folder.file(), bytes);
  expect_error([&] { load_safetensors(folder.file()); }, folder.file() + " is not a whole safetensors file: ", at);
  expect_error([&] { load_safetensors(folder.file()); }, message, at);
  expect_error([&] { load_safetensors_metadata(folder.file()); }, message, at);
  expect_error([&] { load_safetensors(bytes_of(bytes)); }, message, at);
}

void reads(const std::string& header, const std::string& data = std::string(4, '\0'),
           SourceLocation at = SourceLocation::here()) {
  const std::string bytes = safetensors_bytes(header, data);
  try {
    load_safetensors(bytes_of(bytes));
  } catch (const UserError& error) {
    fulgurite::test::fail(error.what(), at);
  }
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

}  // namespace

TEST("files that are cut short or too long are refused") {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  reads(good, std::string(8, '\0'));
  refuses(good, "the file is cut short: it should have 70 bytes and has 69", std::string(7, '\0'));
  refuses(good, "1 byte is left over after the last tensor", std::string(9, '\0'));
  refuses(good, "the header's length, 1000000, does not fit the file, which is cut short", "", 1'000'000);
  refuses(good, "the header's length, 18446744073709551615, is more than the format allows", "", ~uint64_t{0});
  refuses(good, "the header's length, 100000001, is more than the format allows", "", 100'000'001);
}

TEST("headers that are not JSON objects are refused") {
  refuses("{\"a\":", "not JSON");
  refuses("[]", "not a JSON object: it does not begin with '{'");
  refuses("null", "does not begin with '{'");
  refuses(" {\"a\":" + f32 + "}", "does not begin with '{'");
  refuses("\xef\xbb\xbf{\"a\":" + f32 + "}", "does not begin with '{'");
  refuses("/* */{}", "does not begin with '{'");
  refuses("{\"a\":" + f32 + "}" + std::string(3, '\0'), "it has a zero byte");
  refuses("{\"a\":" + f32 + ",}", "not JSON");
  refuses("{\"a\":" + f32 + "}{}", "not JSON");
  refuses("{\"a\xff\":" + f32 + "}", "not JSON");
  refuses("{\"a\\ud800\":" + f32 + "}", "not JSON");
  refuses("{\"a\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}", "nested too deeply");
  reads("{\"a\":" + f32 + "}    ");
  reads("{}", "");
}

TEST("names and fields that occur twice are refused") {
  refuses("{\"a\":" + f32 + ",\"a\":" + i32 + "}", "tensor a is there twice");
  refuses("{\"a\":" + f32 + ",\"\\u0061\":" + f32 + "}", "tensor a is there twice");
  refuses("{\"__metadata__\":{\"k\":\"1\"},\"__metadata__\":{\"k\":\"2\"},\"a\":" + f32 + "}",
          "__metadata__ is there twice");
  refuses("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"},\"a\":" + f32 + "}", "the name \"k\" occurs twice in an object");
  refuses(R"({"a":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}})", "the name \"dtype\" occurs twice");
  refuses(R"({"a":{"dtype":"F32","shape":[9],"shape":[1],"data_offsets":[0,4]}})", "the name \"shape\" occurs twice");
  std::string many = "{\"__metadata__\":{";
  for (int i = 0; i < 100; ++i) many += "\"" + std::to_string(i % 99) + "\":\"\",";
  refuses(many + "\"x\":\"\"}}", "the name \"0\" occurs twice", "");
}

TEST("metadata that are not strings under names are refused") {
  refuses("{\"__metadata__\":[1,2],\"a\":" + f32 + "}", "metadata are not an object");
  refuses("{\"__metadata__\":\"x\",\"a\":" + f32 + "}", "metadata are not an object");
  refuses("{\"__metadata__\":{\"k\":1},\"a\":" + f32 + "}", "metadata are not strings");
  refuses("{\"__metadata__\":{\"k\":null},\"a\":" + f32 + "}", "metadata are not strings");
  reads("{\"__metadata__\":null,\"a\":" + f32 + "}");
  reads("{\"__metadata__\":{},\"a\":" + f32 + "}");
}

TEST("descriptions that do not fit the format are refused with the tensor's name") {
  refuses(R"({"a":[]})", "tensor a: its description is not an object");
  refuses(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "tensor a: \"dtype\" should be a string");
  refuses(entry("\"F99\"", "[1]", "[0,4]"), "tensor a: the format has no dtype \"F99\"");
  refuses(entry("\"f32\"", "[1]", "[0,4]"), "tensor a: the format has no dtype \"f32\"");
  refuses(entry("\"F32\"", "[-1]", "[0,4]"), "tensor a: a size is not a whole number");
  for (const char* size :
       {"[1.0]", "[1e0]", "[true]", "[\"1\"]", "[-0]", "[18446744073709551615]", "[18446744073709551617]"})
    refuses(entry("\"F32\"", size, "[0,4]"), "tensor a: a size is not a whole number");
  refuses(entry("\"F32\"", "[4611686018427387904,4]", "[0,4]"), "tensor a: the sizes are too large");
  refuses(entry("\"F32\"", "[4611686018427387904,4611686018427387904,0]", "[0,0]"), "tensor a: the sizes are too large",
          "");
  refuses(entry("\"F32\"", "[3]", "[0,4]"), "tensor a: data_offsets do not fit the shape and dtype");
  for (const char* offsets :
       {"[4,0]", "[0]", "[0,4,8]", "[-4,0]", "[0,4.0]", "[18446744073709551612,18446744073709551616]"})
    refuses(entry("\"F32\"", "[1]", offsets), "tensor a: data_offsets are not two increasing numbers");
  refuses(entry("\"F4\"", "[3]", "[0,1]"), "tensor a: its elements do not fill whole bytes", std::string(1, '\0'));
  reads(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":{"x":[1]}}})");
}

TEST("data that overlap, leave gaps or are used twice are refused") {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  reads(two("[0,4]", "[4,8]"), std::string(8, '\0'));
  reads(two("[4,8]", "[0,4]"), std::string(8, '\0'));
  refuses(two("[0,4]", "[2,6]"), "tensor b overlaps another or leaves a gap", std::string(6, '\0'));
  refuses(two("[0,4]", "[0,4]"), "overlaps another", std::string(4, '\0'));
  refuses(two("[0,4]", "[6,10]"), "tensor b overlaps another or leaves a gap", std::string(10, '\0'));
  refuses(two("[2,6]", "[6,10]"), "tensor a overlaps another or leaves a gap", std::string(10, '\0'));
  refuses(R"({"a":)" + f32 + R"(,"z":{"dtype":"F64","shape":[0],"data_offsets":[2,2]}})",
          "overlaps another or leaves a gap");
  reads(R"({"a":)" + f32 + R"(,"z":{"dtype":"F64","shape":[3,0],"data_offsets":[4,4]}})");
}

TEST("files of other kinds are named as what they are") {
  const TestFolder folder;
  const auto says = [&](const std::string& bytes, const std::string& message) {
    write_bytes(folder.file(), bytes);
    expect_error([&] { load_safetensors(folder.file()); }, folder.file() + " " + message);
  };
  says("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
       "is a Git LFS pointer, not the file that it stands for");
  says("\n<!DOCTYPE html><html><body>Sign in</body></html>", "is a web page, not a safetensors file");
  says("<html>", "is a web page");
  says("PK\3\4....archive/data.pkl....", "is a PyTorch checkpoint (a zip archive)");
  says("PK\3\4....arr_0.npy", "is a zip archive, not a safetensors file");
  says("\x80\x02}q\x01(X\x05weight", "is a pickle (a PyTorch checkpoint?)");
  says("\x1f\x8b\x08 more", "is compressed with gzip");
  says("{\"weight_map\": {}}", "is JSON, not a safetensors file; if it is an index");
  says("GGUF....", "is a GGUF file");
  says("", "is not a whole safetensors file: it is empty");
  says("1234567", "is not a whole safetensors file: the file is too short for a header");
  expect_error([&] { load_safetensors(folder.path); },
               "cannot read " + folder.path + ": it is a folder, not a regular file");
  expect_error([&] { load_safetensors(folder.file("none")); }, "cannot read " + folder.file("none") + ": No such file");
  ::mkfifo(folder.file("pipe").c_str(), 0600);
  expect_error([&] { load_safetensors(folder.file("pipe")); }, "it is a pipe, not a regular file");
  expect_error([&] { load_safetensors("/dev/zero"); }, "it is a device, not a regular file");
}

TEST("a header's length that looks like a pickle's first bytes is read") {
  std::string header = "{\"a\":" + f32 + "}";
  header.resize(0x280, ' ');
  reads(header);
}

TEST("errors are one line of UTF-8, whatever the names are") {
  const auto error_of = [](const std::string& header) {
    const std::string bytes = safetensors_bytes(header, "");
    try {
      SafetensorsFile file(bytes_of(bytes));
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_different(error_of("{\"a\\n\\u0007b\": []}").find("tensor a??b: its description"), std::string::npos);
  const std::string long_name = error_of("{\"" + std::string(100'000, 'n') + "\": []}");
  expect(long_name.size() < 500 && long_name.find("n…: its") != std::string::npos, long_name.substr(0, 600));
  expect_equal(error_of("{\"a\xff\": []}").find('\xff'), std::string::npos);
}

TEST("the time to read a header is in proportion to its tensors") {
  const auto seconds = [](int count) {
    std::string header = "{";
    for (int i = 0; i < count; ++i) {
      const std::string begin = std::to_string(i), end = std::to_string(i + 1);
      header += (i ? ",\"layers." : "\"layers.") + begin + R"(.weight":{"dtype":"U8","shape":[1],"data_offsets":[)" +
                begin + "," + end + "]}";
    }
    const std::string bytes = safetensors_bytes(header + "}", std::string(static_cast<size_t>(count), '\1'));
    const std::clock_t begin = std::clock();
    expect_equal(SafetensorsFile(bytes_of(bytes)).names().size(), static_cast<size_t>(count));
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double few = std::max(seconds(5'000), 1e-3), many = seconds(100'000);
  // Twenty times as many; a search through all earlier names for each would take four hundred times as long.
  expect(many < 100 * few, std::to_string(few) + " s and " + std::to_string(many) + " s");
}
