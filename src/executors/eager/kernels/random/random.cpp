// Random numbers: element i of a draw is a function of the seed and the draw's offset plus i (Philox4x32-10), so
// neither threads nor vectors nor fusions change it.
#include <algorithm>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/common/combine.h"
#include "executors/eager/kernels/common/double_math.h"
#include "executors/eager/kernels/common/elements.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"
#include "support/context.h"
#include "tensor/number_range.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t block = 256, grain = 4096;

/// The words that Philox gives for each of `block` counters from `counter` on, two or all four. A number has a pair of
/// lanes, a counter to a pair; the upper lanes hold what is left of earlier products and are never read.
void philox(uint64_t seed, uint64_t counter, uint64_t* first, uint64_t* second, uint64_t* third = nullptr,
            uint64_t* fourth = nullptr) {
  constexpr int64_t pairs = lanes / 2;
  const Ints multiplier0(static_cast<int>(0xD2511F53)), multiplier1(static_cast<int>(0xCD9E8D57));
  for (int64_t i = 0; i < block; i += pairs) {
    uint64_t low[pairs], high[pairs];
    for (int64_t k = 0; k < pairs; ++k) {
      const uint64_t at = counter + static_cast<uint64_t>(i + k);
      low[k] = at;
      high[k] = at >> 32;
    }
    Ints c0 = load(reinterpret_cast<const int*>(low)), c1 = load(reinterpret_cast<const int*>(high)), c2 = 0, c3 = 0;
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Ints a = multiply_even(c0, multiplier0), b = multiply_even(c2, multiplier1);
      c0 = shift_right_pairs(b, 32) ^ c1 ^ Ints(static_cast<int>(key0));
      c1 = b;
      c2 = shift_right_pairs(a, 32) ^ c3 ^ Ints(static_cast<int>(key1));
      c3 = a;
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
    store(reinterpret_cast<int*>(first + i), c0);
    store(reinterpret_cast<int*>(second + i), c1);
    if (third == nullptr) continue;
    store(reinterpret_cast<int*>(third + i), c2);
    store(reinterpret_cast<int*>(fourth + i), c3);
  }
}

RandomState read_state(const Tensor& state) {
  const TensorImpl& from = *state.impl();
  RandomState out{};
  std::memcpy(&out.seed, from.data(), 8);
  std::memcpy(&out.offset, from.data() + 8 * from.strides[0], 8);
  return out;
}

/// Calls make(first words, second words, numbers, count) for blocks of the result; the numbers are stored in its dtype.
template <class Number, class Make>
void draw(const Tensor& state, const Tensor& result, Make make) {
  const TensorImpl& to = *result.impl();
  const RandomState drawn = read_state(state);
  const uint64_t seed = drawn.seed, offset = drawn.offset;
  const Convert convert = find_conversion(dtype_of<Number>, to.dtype);
  const int64_t item = size_of(to.dtype);
  parallel_for(to.numel(), grain, [&](int64_t begin, int64_t end) {
    alignas(64) uint64_t first[block], second[block];
    alignas(64) Number numbers[block];
    for (int64_t at = begin; at < end; at += block) {
      const int64_t count = std::min(block, end - at);
      philox(seed, offset + static_cast<uint64_t>(at), first, second);
      make(first, second, numbers, count);
      convert(numbers, 1, to.data() + at * item, count);
    }
  });
}

/// The upper bits of a 32-bit word as a number in [0, 1): as many as a number of the dtype has.
template <int bits = 24>
inline double unit(uint64_t word) {
  return static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(word) >> (32 - bits))) * (1.0 / (1 << bits));
}

/// The upper 53 of two words' 64 bits as a number in [0, 1).
inline double wide_unit(uint64_t first, uint64_t second) {
  const uint64_t bits = static_cast<uint64_t>(static_cast<uint32_t>(first)) << 21 | static_cast<uint32_t>(second) >> 11;
  return static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-53;
}

void random_state(Arguments arguments, std::span<const Tensor> results) {
  const RandomState state = context().generator.next_random_state(arguments[0].integer().hint());
  std::memcpy(results[0].impl()->data(), &state.seed, 8);
  std::memcpy(results[0].impl()->data() + 8, &state.offset, 8);
}

/// low + scale * numbers, each step rounded separately: a fused multiply-add would round once.
void scale_and_shift(double* numbers, double scale, double low, int64_t count) {
  if (scale != 1)
    for (int64_t i = 0; i < count; ++i) numbers[i] *= scale;
  asm volatile("" : : "r"(numbers) : "memory");
  if (low != 0)
    for (int64_t i = 0; i < count; ++i) numbers[i] += low;
}

/// Clamps numbers to an interval: rounding to the dtype then stays in it.
template <class Number>
void keep_between(Number* numbers, Number least, Number most, int64_t count) {
  for (int64_t i = 0; i < count; ++i) numbers[i] = numbers[i] < least ? least : numbers[i] > most ? most : numbers[i];
}

/// Numbers in [low, high), from units that have the bits of the result's dtype.
template <class Unit>
void draw_between(Arguments arguments, const Tensor& result, Unit make_unit) {
  const double low = arguments[2].floating().hint(), high = arguments[3].floating().hint();
  const NumberInterval interval = numbers_between(low, high, result.dtype());
  draw<double>(arguments[0].tensor(), result,
               [=](const uint64_t* first, const uint64_t* second, double* numbers, int64_t count) {
                 for (int64_t i = 0; i < count; ++i) numbers[i] = make_unit(first[i], second[i]);
                 if (low == 0 && high == 1) return;
                 scale_and_shift(numbers, high - low, low, count);
                 keep_between(numbers, interval.least, interval.most, count);
               });
}

template <int bits>
void draw_narrow(Arguments arguments, const Tensor& result) {
  if (arguments[2].floating().hint() != 0 || arguments[3].floating().hint() != 1)
    return draw_between(arguments, result, [](uint64_t first, uint64_t) { return unit<bits>(first); });
  draw<float>(arguments[0].tensor(), result, [](const uint64_t* first, const uint64_t*, float* numbers, int64_t count) {
    constexpr float step = 1.0f / (1 << bits);  // the numbers are exact in f32
    for (int64_t i = 0; i < count; ++i)
      numbers[i] = static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(first[i]) >> (32 - bits))) * step;
  });
}

void uniform(Arguments arguments, std::span<const Tensor> results) {
  const Tensor& result = results[0];
  switch (result.dtype()) {
    case Dtype::f64: return draw_between(arguments, result, wide_unit);
    case Dtype::bf16: return draw_narrow<8>(arguments, result);
    case Dtype::f16: return draw_narrow<11>(arguments, result);
    default: return draw_narrow<24>(arguments, result);
  }
}

/// Both numbers that a normal one is made of have the 53 bits of f64: tails as far out as 8.5 are drawn.
void wide_normal(const Tensor& state, const Tensor& result, double mean, double deviation) {
  const TensorImpl& to = *result.impl();
  const RandomState from = read_state(state);
  parallel_for(to.numel(), grain, [&](int64_t begin, int64_t end) {
    alignas(64) uint64_t words[4][block];
    alignas(64) double squares[block], numbers[block];
    for (int64_t at = begin; at < end; at += block) {
      const int64_t count = std::min(block, end - at);
      philox(from.seed, from.offset + static_cast<uint64_t>(at), words[0], words[1], words[2], words[3]);
      for (int64_t i = 0; i < count; ++i) squares[i] = -2 * log_of_positive(1 - wide_unit(words[0][i], words[1][i]));
      for (int64_t i = 0; i < count; ++i) squares[i] = __builtin_sqrt(squares[i]);
      for (int64_t i = 0; i < count; ++i) numbers[i] = squares[i] * cosine_of_turn(wide_unit(words[2][i], words[3][i]));
      scale_and_shift(numbers, deviation, mean, count);
      std::memcpy(to.data() + at * 8, numbers, static_cast<size_t>(count) * 8);
    }
  });
}

void normal(Arguments arguments, std::span<const Tensor> results) {
  const double mean = arguments[2].floating().hint(), deviation = arguments[3].floating().hint();
  if (results[0].dtype() == Dtype::f64) return wide_normal(arguments[0].tensor(), results[0], mean, deviation);
  draw<double>(arguments[0].tensor(), results[0],
               [=](const uint64_t* first, const uint64_t* second, double* numbers, int64_t count) {
                 alignas(64) double squares[block];
                 for (int64_t i = 0; i < count; ++i) squares[i] = -2 * log_of_positive(1 - unit(first[i]));
                 for (int64_t i = 0; i < count; ++i) squares[i] = __builtin_sqrt(squares[i]);
                 for (int64_t i = 0; i < count; ++i) numbers[i] = squares[i] * cosine_of_turn(unit(second[i]));
                 scale_and_shift(numbers, deviation, mean, count);
               });
}

void random_integers(Arguments arguments, std::span<const Tensor> results) {
  const int64_t low = arguments[2].integer().hint();
  const int64_t high = arguments[3].integer().hint();
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const Dtype dtype = results[0].dtype();
  NumberInterval interval = {0, 0};
  if (is_floating(dtype)) interval = numbers_between(static_cast<double>(low), static_cast<double>(high), dtype);
  draw<int64_t>(arguments[0].tensor(), results[0],
                [=](const uint64_t* first, const uint64_t* second, int64_t* numbers, int64_t count) {
                  // 63 bits if they are enough: PyTorch's integers, which the Python form uses, are signed.
                  const uint64_t mask = range >> 63 ? ~uint64_t{0} : ~uint64_t{0} >> 1;
                  if (range > 0xffffffff)
                    for (int64_t i = 0; i < count; ++i) {
                      const uint64_t bits = (static_cast<uint32_t>(first[i]) | second[i] << 32) & mask;
                      numbers[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + bits % range);
                    }
                  else
                    for (int64_t i = 0; i < count; ++i)
                      numbers[i] =
                          low + static_cast<int64_t>(static_cast<uint32_t>(first[i]) % static_cast<uint32_t>(range));
                  if (is_floating(dtype))  // integers between the dtype's numbers are rounded
                    keep_between(numbers, static_cast<int64_t>(std::min(interval.least, 0x1.fffffffffffffp62)),
                                 static_cast<int64_t>(std::min(interval.most, 0x1.fffffffffffffp62)), count);
                });
}

constexpr KernelEntry table[] = {
    {&prims_random_state_symbol, random_state},
    {&prims_uniform_symbol, uniform},
    {&prims_normal_symbol, normal},
    {&prims_random_integers_symbol, random_integers},
};

}  // namespace

KernelTable random_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
