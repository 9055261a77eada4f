#include <cmath>

#include <fulgurite/fulgurite.h>

#include "hub/gguf_file.h"
#include "hub/model_folder.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

const TestFolder& folder() {
  static const TestFolder made;
  return made;
}

hub::GgufFile opened(const GgufBytes& bytes) {
  write_text(folder().file("x.gguf"), bytes.str());
  return hub::GgufFile(folder().file("x.gguf"));
}

// The bytes of a normal f16 number.
std::string half(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);
  const int bits = (exponent + 14) << 10 | static_cast<int>((2 * fraction - 1) * 1024);
  return GgufBytes::bytes_of(static_cast<uint16_t>(value < 0 ? bits | 0x8000 : bits));
}

std::vector<float> dequantized(uint32_t type, const std::string& block, uint64_t elements) {
  return opened(GgufBytes().tensor("w", {elements}, type, block)).load("w").to_vector<float>();
}

std::string bytes(size_t count, uint8_t value) { return std::string(count, static_cast<char>(value)); }

}  // namespace

TEST("a GGUF file's values and tensors are read") {
  const auto file = opened(GgufBytes()
                               .string("general.architecture", "llama")
                               .u32("llama.block_count", 3)
                               .value("scale", 6, GgufBytes::bytes_of(0.5f))
                               .value("flag", 7, "\1")
                               .value("wide", 11, GgufBytes::bytes_of<int64_t>(-5))
                               .strings("tokens", {"a", "bc"})
                               .tensor("w", {2, 3}, 0, std::string(24, '\0'))
                               .tensor("h", {2}, 1, half(1.5) + half(-2)));
  expect_equal(file.string("general.architecture", ""), std::string("llama"));
  expect_equal(file.integer("llama.block_count", 0), int64_t{3});
  expect_equal(file.integer("absent", 7), int64_t{7});
  expect_equal(file.number("scale", 0), 0.5);
  expect(file.boolean("flag", false));
  expect_equal(file.integer("wide", 0), int64_t{-5});
  expect_equal(file.strings("tokens"), std::vector<std::string>({"a", "bc"}));
  expect_equal(file.names(), std::vector<std::string>({"w", "h"}));
  expect_equal(file.info("w").shape, std::vector<int64_t>({2, 3}));
  expect_equal(file.info("w").type, std::string("F32"));
  expect_equal(file.load("w").shape(), Shape({2, 3}));
  expect_equal(file.load("h").dtype(), Dtype::f16);
  expect_equal(file.load("h").to(Dtype::f32).to_vector<float>(), std::vector<float>({1.5f, -2}));
  expect_error([&] { file.integer("scale", 0); }, "\"" + folder().file("x.gguf") + "\": scale must be an integer");
  expect_error([&] { file.load("v"); }, "\"" + folder().file("x.gguf") + "\" has no tensor \"v\"");
}

TEST("blocks of quantized elements become f32") {
  // Scale 0.5; low bits of a byte are an element of the first half, high bits one of the second.
  std::vector<float> values = dequantized(2, half(0.5) + bytes(16, 0xF1), 32);
  expect_equal(std::pair(values[0], values[16]), std::pair(-3.5f, 3.5f));
  values = dequantized(3, half(0.5) + half(2) + bytes(16, 0xF1), 32);
  expect_equal(std::pair(values[0], values[16]), std::pair(2.5f, 9.5f));
  values = dequantized(6, half(0.5) + std::string("\1\0\0\0", 4) + bytes(16, 0xF1), 32);
  expect_equal(std::vector<float>({values[0], values[1], values[16]}), std::vector<float>({0.5f, -7.5f, -0.5f}));
  values = dequantized(7, half(0.5) + half(1) + std::string("\0\0\1\0", 4) + bytes(16, 0xF1), 32);
  expect_equal(std::vector<float>({values[0], values[16], values[17]}), std::vector<float>({1.5f, 16.5f, 8.5f}));
  values = dequantized(8, half(0.25) + bytes(32, 0xFE), 32);
  expect_equal(values[31], -0.5f);
  // Group 0 has scale 1 and minimum 2, group 4 scale 1 and minimum 0.
  const std::string scales = std::string("\1\0\0\0\2\0\0\0\1\0\0\0", 12);
  values = dequantized(12, half(2) + half(0.5) + scales + bytes(128, 0x43), 256);
  expect_equal(std::vector<float>({values[0], values[32], values[128]}), std::vector<float>({5, 0, 6}));
  values = dequantized(13, half(2) + half(0.5) + scales + bytes(32, 0x11) + bytes(128, 0x43), 256);
  expect_equal(std::vector<float>({values[0], values[32], values[128]}), std::vector<float>({37, 0, 38}));
  values = dequantized(14, bytes(128, 0x21) + bytes(64, 0x90) + bytes(16, 0xFF) + half(0.5), 256);
  expect_equal(std::vector<float>({values[0], values[32], values[64], values[96]}),
               std::vector<float>({15.5f, 15.5f, 7, -1}));
}

TEST("GGUF files that are not whole are errors") {
  const std::string path = folder().file("bad.gguf"), whole = "\"" + path + "\" is not a whole GGUF file: ";
  const auto error_of = [&](const std::string& content, const std::string& message) {
    write_text(path, content);
    expect_error([&] { hub::GgufFile file(path); }, whole + message);
  };
  error_of("GGML", "it does not begin with \"GGUF\"");
  error_of(GgufBytes(4).str(), "its version is 4; versions 2 and 3 are read");
  error_of(GgufBytes().u32("a", 1).u32("a", 2).str(), "its header has a twice");
  error_of(GgufBytes().value("a", 8, GgufBytes::bytes_of<uint64_t>(1000)).str(),
           "it is truncated, or a length in its header is wrong");
  error_of(GgufBytes().value("a", 13, "").str(), "a value in its header is of an unknown type");
  error_of(GgufBytes().tensor("w", {33}, 2, "").str(), "tensor w has rows that are not whole blocks of Q4_0");
  error_of(GgufBytes().tensor("w", {32}, 0, "abc").str(), "it is truncated: tensor w ends behind it");
  const std::string good = GgufBytes().string("a", "b").tensor("w", {4}, 0, std::string(16, 'x')).str();
  for (size_t length = 0; length + 16 < good.size(); ++length) {
    write_text(path, good.substr(0, length));
    try {
      hub::GgufFile file(path);
      fail("a truncated file was read");
    } catch (const UserError& error) {
      expect(std::string(error.what()).starts_with(whole));
    }
  }
}

TEST("codes of matrices are read as they are stored") {
  std::string bytes, minima;
  for (int i = 0; i < 4; ++i) {  // rows of two groups, with the scales 1, 2, 3, 4
    const std::string scale = GgufBytes::bytes_of(static_cast<uint16_t>(i == 0   ? 0x3c00
                                                                        : i == 1 ? 0x4000
                                                                        : i == 2 ? 0x4200
                                                                                 : 0x4400));
    std::string codes(32, '\0');
    for (int j = 0; j < 32; ++j) codes[static_cast<size_t>(j)] = static_cast<char>(j - 16 + i);
    bytes += scale + codes;
    minima += scale + GgufBytes::bytes_of(static_cast<uint16_t>(0xbc00)) + codes.substr(0, 16);
  }
  const auto file = opened(GgufBytes()
                               .tensor("w", {2, 64}, 8, bytes)
                               .tensor("m", {2, 64}, 3, minima)
                               .tensor("v", {64}, 8, bytes.substr(0, 68)));
  const auto weight = file.load_codes("w");
  expect_equal(weight->codes.dtype(), Dtype::i8);
  expect_equal(weight->codes.shape(), Shape({2, 64}));
  expect_equal(weight->scales.to(Dtype::f32).to_vector<float>(), std::vector<float>{1, 2, 3, 4});
  expect_equal(weight->dequantized().to_vector<float>(), file.load("w").to_vector<float>());
  expect_equal(file.load_codes("m")->dequantized().to_vector<float>(), file.load("m").to_vector<float>());
  expect(!file.load_codes("v"));
}

TEST("tensors of other types are errors when they are loaded") {
  const auto file = opened(GgufBytes().tensor("w", {256}, 10, std::string(84, '\0')));
  expect_error([&] { file.load("w"); },
               "\"" + folder().file("x.gguf") +
                   "\": tensor w is of type 10, which is not supported; there are F32, F16, BF16, Q4_0, Q4_1, Q5_0, "
                   "Q5_1, Q8_0, Q4_K, Q5_K and Q6_K");
}

TEST("GGUF files of other architectures and tokenizers are not converted") {
  const auto error_of = [&](const GgufBytes& content, const std::string& message) {
    write_text(folder().file("x.gguf"), content.str());
    expect_error([&] { hub::convert_gguf(folder().file("x.gguf"), folder().file("out")); }, message);
    expect(!std::filesystem::exists(folder().file("out")));
  };
  error_of(GgufBytes().string("general.architecture", "mamba"),
           "the architecture \"mamba\" of a GGUF file is not supported; there are llama, qwen2 and qwen3");
  GgufBytes llama;
  llama.string("general.architecture", "llama").u32("llama.attention.head_count", 2).u32("llama.embedding_length", 8);
  llama.u32("llama.context_length", 32).u32("llama.block_count", 1);
  error_of(GgufBytes(llama).tensor("token_embd.weight", {5, 8}, 0, std::string(160, '\0')),
           "the GGUF file has no \"llama.feed_forward_length\"");
  llama.u32("llama.feed_forward_length", 16);
  llama.tensor("token_embd.weight", {5, 8}, 0, std::string(160, '\0'));
  error_of(llama, "the GGUF file has no tokens (tokenizer.ggml.tokens)");
  llama.strings("tokenizer.ggml.tokens", {"a", "b"}).string("tokenizer.ggml.model", "t5");
  error_of(llama, "the GGUF file's tokenizer.ggml.model \"t5\" is not supported; there are gpt2 and llama");
}
