// Tensors from shapes and numbers.
#include <algorithm>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/elementwise/pointwise.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t grain = 65536;

void fill(const Argument& value, const Tensor& result) {
  const TensorImpl& to = *result.impl();
  const int64_t item = size_of(to.dtype);
  alignas(8) char number[8];
  if (value.is_tensor()) {
    const TensorImpl& from = *value.tensor().impl();
    find_conversion(from.dtype, to.dtype)(from.data(), 1, number, 1);
  } else {
    write_number(value, to.dtype, number);
  }
  const Convert repeat = find_conversion(to.dtype, to.dtype);
  parallel_for(to.numel(), grain,
               [&](int64_t begin, int64_t end) { repeat(number, 0, to.data() + begin * item, end - begin); });
}

/// Element i of the result is value(i), computed as a Number.
template <class Number, class Value>
void generate(const Tensor& result, Value value) {
  const TensorImpl& to = *result.impl();
  constexpr int64_t block = 512;
  const Convert convert = find_conversion(std::is_same_v<Number, double> ? Dtype::f64 : Dtype::i64, to.dtype);
  const int64_t item = size_of(to.dtype);
  parallel_for(to.numel(), grain, [&](int64_t begin, int64_t end) {
    Number buffer[block];
    for (int64_t at = begin; at < end; at += block) {
      const int64_t count = std::min(block, end - at);
      for (int64_t i = 0; i < count; ++i) buffer[i] = value(at + i);
      convert(buffer, 1, to.data() + at * item, count);
    }
  });
}

void full(Arguments arguments, std::span<const Tensor> results) { fill(arguments[1], results[0]); }
template <int value>
void constant(Arguments, std::span<const Tensor> results) {
  fill(Argument(Int(value)), results[0]);
}

/// An empty tensor is left uninitialised.
void nothing(Arguments, std::span<const Tensor>) {}

void arange(Arguments arguments, std::span<const Tensor> results) {
  const bool from_zero = arguments[1].is_none();
  const Argument start = from_zero ? Argument(Int(0)) : arguments[0];
  const Argument& step = arguments[2];
  if (!is_floating(results[0].dtype()) || (!start.is_floating() && !step.is_floating())) {
    // Integers are computed from the integer parts of floating start and step.
    const auto whole = [](const Argument& n) {
      return n.is_floating() ? static_cast<int64_t>(n.floating().hint()) : n.integer().hint();
    };
    const int64_t first = whole(start), by = whole(step);
    return generate<int64_t>(results[0], [=](int64_t i) { return first + i * by; });
  }
  const double first = start.floating().hint(), by = step.floating().hint();
  generate<double>(results[0], [=](int64_t i) { return first + static_cast<double>(i) * by; });
}

void linspace(Arguments arguments, std::span<const Tensor> results) {
  const double start = arguments[0].floating().hint(), end = arguments[1].floating().hint();
  const int64_t steps = results[0].impl()->numel();
  const double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // From the nearer end, so that both are met exactly; the middle from the end, as in PyTorch.
  const int64_t from_start = std::max<int64_t>(1, steps / 2);
  generate<double>(results[0], [=](int64_t i) {
    return i < from_start ? start + static_cast<double>(i) * step : end - static_cast<double>(steps - 1 - i) * step;
  });
}

void eye(Arguments, std::span<const Tensor> results) {
  const TensorImpl& to = *results[0].impl();
  fill(Argument(Int(0)), results[0]);
  const int64_t item = size_of(to.dtype), columns = to.sizes[1];
  alignas(8) char one[8];
  write_number(Argument(Int(1)), to.dtype, one);
  for (int64_t i = 0; i < std::min(to.sizes[0], columns); ++i)
    std::memcpy(to.data() + i * (columns + 1) * item, one, item);
}

constexpr KernelEntry table[] = {
    {&full_symbol, full},         {&full_like_symbol, full},
    {&zeros_symbol, constant<0>}, {&zeros_like_symbol, constant<0>},
    {&empty_symbol, nothing},     {&empty_like_symbol, nothing},
    {&ones_symbol, constant<1>},  {&ones_like_symbol, constant<1>},
    {&arange_symbol, arange},     {&linspace_symbol, linspace},
    {&eye_symbol, eye},
};

}  // namespace

KernelTable creation_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
