#include <cstring>

#include "executors/reference.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {
constexpr Dtype all_dtypes[] = {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::i64,
                                Dtype::i32, Dtype::i16, Dtype::i8,   Dtype::u8,  Dtype::boolean};

double converted(double x, Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return x;
    case Dtype::f32: return static_cast<float>(x);
    case Dtype::bf16: return bf16_to_float(float_to_bf16(static_cast<float>(x)));
    case Dtype::f16: return f16_to_float(float_to_f16(static_cast<float>(x)));
    case Dtype::boolean: return x != 0;
    default: return std::trunc(x);
  }
}
}  // namespace

TEST("every dtype converts to every dtype") {
  for (const Dtype from : all_dtypes)
    for (const Dtype to : all_dtypes) {
      // 37 elements: whole vectors and a rest; values that all integers hold.
      const Tensor source = make({37}, from, 0, 100);
      std::vector<double> expected = elements(source);
      for (double& x : expected) x = converted(x, to);
      const Tensor result = source.to(to);
      expect_equal(result.dtype(), to);
      expect_equal(elements(result), expected);
    }
}

TEST("a strided tensor converts like a contiguous one") {
  const Tensor source = make({9, 41}, Dtype::f32, -50, 50);
  for (const Dtype to : {Dtype::f64, Dtype::bf16, Dtype::i8}) {
    std::vector<double> expected = elements(transpose(source, 0, 1));
    for (double& x : expected) x = converted(x, to);
    expect_equal(elements(transpose(source, 0, 1).to(to)), expected);
  }
}

TEST("all 16-bit patterns survive the way through f32, and f32 rounds to even") {
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    const Tensor half = make_tensor({65536}, dtype);
    auto* bits = reinterpret_cast<uint16_t*>(half.impl()->data());
    for (int i = 0; i < 65536; ++i) bits[i] = static_cast<uint16_t>(i);
    const Tensor wide = half.to(Dtype::f32);
    const Tensor back = wide.to(dtype);
    const auto* widened = reinterpret_cast<const float*>(wide.impl()->data());
    const auto* returned = reinterpret_cast<const uint16_t*>(back.impl()->data());
    int wrong = 0;
    for (int i = 0; i < 65536; ++i) {
      const uint16_t pattern = static_cast<uint16_t>(i);
      const float expected = dtype == Dtype::bf16 ? bf16_to_float(pattern) : f16_to_float(pattern);
      if (std::isnan(expected)) wrong += !std::isnan(widened[i]);
      else wrong += widened[i] != expected || returned[i] != pattern;
    }
    expect_equal(wrong, 0);
    // Halfway between neighbours, just above and just below.
    int rounded_wrong = 0;
    std::vector<float> values;
    for (uint32_t pattern = 0x30000000; pattern < 0x50000000; pattern += 0x7ff) {
      float value;
      std::memcpy(&value, &pattern, 4);
      values.push_back(value);
      values.push_back(-value);
    }
    const Tensor rounded = tensor(values).to(dtype);
    const auto* result = reinterpret_cast<const uint16_t*>(rounded.impl()->data());
    for (size_t i = 0; i < values.size(); ++i)
      rounded_wrong += result[i] != (dtype == Dtype::bf16 ? float_to_bf16(values[i]) : float_to_f16(values[i]));
    expect_equal(rounded_wrong, 0);
  }
}
