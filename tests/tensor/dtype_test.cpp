#include <cstring>

#include <fulgurite/dtype.h>
#include <fulgurite/error.h>

#include "support/test.h"
#include "tensor/half.h"

namespace fulgurite {

TEST("promotion is torch.promote_types") {
  // Rows and columns: f64 f32 bf16 f16 i64 i32 i16 i8 u8 bool.
  static constexpr const char* table[dtype_count][dtype_count] = {
      {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
      {"f64", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32"},
      {"f64", "f32", "bf16", "f32", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16"},
      {"f64", "f32", "f32", "f16", "f16", "f16", "f16", "f16", "f16", "f16"},
      {"f64", "f32", "bf16", "f16", "i64", "i64", "i64", "i64", "i64", "i64"},
      {"f64", "f32", "bf16", "f16", "i64", "i32", "i32", "i32", "i32", "i32"},
      {"f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i16", "i16", "i16"},
      {"f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "i16", "i8"},
      {"f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i16", "u8", "u8"},
      {"f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "bool"},
  };
  for (int a = 0; a < dtype_count; ++a)
    for (int b = 0; b < dtype_count; ++b)
      expect_equal(name(promote_types(static_cast<Dtype>(a), static_cast<Dtype>(b))), std::string_view(table[a][b]));
}

TEST("dtypes and devices are read from their names") {
  for (int i = 0; i < dtype_count; ++i)
    expect_equal(dtype_from_name(name(static_cast<Dtype>(i))), static_cast<Dtype>(i));
  expect_error([] { dtype_from_name("float"); }, "there is no dtype \"float\"");
  expect_equal(Device("cuda:1").name(), "cuda:1");
  expect_equal(Device("cuda").name(), "cuda:0");
  expect_equal(Device("cpu").name(), "cpu");
  expect_error([] { Device("gpu"); }, "there is no device \"gpu\"");
  expect_error([] { set_default_dtype(Dtype::i64); }, "must be floating");
}

TEST("every 16-bit number survives the way to float and back") {
  int lost = 0;
  for (int bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (!std::isnan(f16_to_float(half)) && float_to_f16(f16_to_float(half)) != half) ++lost;
    if (!std::isnan(bf16_to_float(half)) && float_to_bf16(bf16_to_float(half)) != half) ++lost;
  }
  expect_equal(lost, 0);
}

TEST("conversion to 16 bits rounds to nearest, ties to even") {
  expect_equal(float_to_bf16(1.0f + 1.0f / 256), 0x3f80);
  expect_equal(float_to_bf16(1.0f + 3.0f / 256), 0x3f82);
  expect_equal(float_to_f16(1.0f + 1.0f / 2048), 0x3c00);
  expect_equal(float_to_f16(1.0f + 3.0f / 2048), 0x3c02);
  expect_equal(float_to_f16(65519.0f), 0x7bff);
  expect_equal(float_to_f16(65520.0f), 0x7c00);
  expect_equal(float_to_f16(0x1p-25f), 0x0000);
  expect_equal(float_to_f16(0x1.8p-24f), 0x0002);
  expect(std::isnan(f16_to_float(float_to_f16(NAN))));
  expect(std::isnan(bf16_to_float(float_to_bf16(NAN))));
}

}  // namespace fulgurite
