// Operators with results whose sizes depend on elements. They read the elements, so a recording ends its piece before
// them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fulgurite/data_dependent.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/tensor/tensor_values.h"
#include "support/text/text.h"
#include "tensor/half.h"

namespace fulgurite {

namespace {

/// Calls visit(T()) with the type that a dtype's elements are compared as; 16-bit floating elements are read as
/// uint16_t.
template <class Visit>
void with_element_type(Dtype dtype, Visit&& visit) {
  switch (dtype) {
    case Dtype::f64: return visit(double());
    case Dtype::f32: return visit(float());
    case Dtype::bf16:
    case Dtype::f16: return visit(uint16_t());
    case Dtype::i64: return visit(int64_t());
    case Dtype::i32: return visit(int32_t());
    case Dtype::i16: return visit(int16_t());
    case Dtype::i8: return visit(int8_t());
    case Dtype::u8:
    case Dtype::boolean: return visit(uint8_t());
  }
}

/// The positions, in row-major order of these sizes and strides, of the elements that are not zero.
std::vector<int64_t> positions_of_nonzero(const TensorImpl& impl, const Sizes& sizes, const Sizes& strides) {
  std::vector<int64_t> out;
  with_element_type(impl.dtype, [&]<class T>(T) {
    const T* const data = reinterpret_cast<const T*>(impl.data());
    int64_t position = 0;
    for_each_offset(sizes, strides, [&](int64_t offset) {
      const T element = data[offset];
      if constexpr (std::is_same_v<T, uint16_t>) {
        if (element & 0x7fff) out.push_back(position);
      } else {
        if (element != 0) out.push_back(position);
      }
      ++position;
    });
  });
  return out;
}

Tensor integers(const std::vector<int64_t>& values, const Sizes& sizes) {
  Tensor out = make_tensor(sizes, Dtype::i64);
  if (!values.empty()) std::memcpy(out.impl()->data(), values.data(), values.size() * sizeof(int64_t));
  return out;
}
Tensor integers(const std::vector<int64_t>& values) { return integers(values, {static_cast<int64_t>(values.size())}); }

/// The strides with which a tensor is read in a shape that it broadcasts to.
Sizes broadcast_strides(const TensorImpl& impl, const Sizes& sizes) {
  Sizes strides(sizes.size());
  const size_t missing = sizes.size() - impl.sizes.size();
  for (size_t d = missing; d < sizes.size(); ++d)
    strides[d] = impl.sizes[d - missing] == 1 ? 0 : impl.strides[d - missing];
  return strides;
}

}  // namespace

Tensor nonzero(const Tensor& input, SourceLocation at) {
  const TensorImpl& impl = demand_elements(input, "nonzero()", at);
  const std::vector<int64_t> positions = positions_of_nonzero(impl, impl.sizes, impl.strides);
  const auto count = static_cast<int64_t>(positions.size()), dims = static_cast<int64_t>(impl.sizes.size());
  Tensor out = make_tensor({count, dims}, Dtype::i64);
  auto* index = reinterpret_cast<int64_t*>(out.impl()->data());
  for (int64_t position : positions) {
    for (size_t d = impl.sizes.size(); d-- > 0;) {
      index[d] = position % impl.sizes[d];
      position /= impl.sizes[d];
    }
    index += dims;
  }
  return out;
}

Tensor argwhere(const Tensor& input, SourceLocation at) { return nonzero(input, at); }

std::vector<Tensor> where(const Tensor& condition, SourceLocation at) {
  const Tensor found =
      nonzero(condition.defined() && condition.ndim() == 0 ? unsqueeze(condition, 0, at) : condition, at);
  return unbind(found, 1, at);
}

Tensor masked_select(const Tensor& input, const Tensor& mask, SourceLocation at) {
  if (!input.defined()) throw UserError("masked_select: input is an undefined tensor", at);
  if (!mask.defined() || mask.dtype() != Dtype::boolean)
    throw UserError(
        text::cat("masked_select: the mask must be boolean, not ", mask.defined() ? type_text(mask) : "undefined"), at);
  const TensorImpl& chosen = demand_elements(mask, "masked_select()", at);
  Shape common;
  try {
    common = broadcast_shapes(input.shape(), mask.shape());
  } catch (const RuleError& error) {
    throw UserError(text::cat("masked_select: ", error.message), at);
  }
  Sizes sizes;
  for (const int64_t size : common) sizes.push_back(size);
  const Tensor positions = integers(positions_of_nonzero(chosen, sizes, broadcast_strides(chosen, sizes)));
  const Tensor whole = broadcast_to(input, Dims(common), at);
  const Tensor flat = reshape(whole, {-1}, at);
  return index_select(flat, 0, positions, at);
}

Tensor bincount(const Tensor& input, const Tensor& weights, int64_t minlength, SourceLocation at) {
  if (input.defined() && (is_floating(input.dtype()) || input.dtype() == Dtype::boolean || input.ndim() != 1))
    throw UserError(text::cat("bincount: the input must be integers of one dimension, not ", type_text(input)), at);
  if (minlength < 0) throw UserError(text::cat("bincount: minlength must not be negative: ", minlength), at);
  if (weights.defined() && !(weights.shape() == input.shape()))
    throw UserError(text::cat("bincount: the weights are ", type_text(weights), ", the input ", type_text(input)), at);
  demand_elements(input, "bincount()", at);
  if (weights.defined()) demand_elements(weights, "bincount()", at);
  const bool single = weights.defined() && weights.dtype() == Dtype::f32;
  const TensorImpl& numbers = *input.impl();
  std::vector<int64_t> places;
  int64_t length = minlength;
  with_element_type(numbers.dtype, [&]<class T>(T) {
    const T* const data = reinterpret_cast<const T*>(numbers.data());
    for (int64_t i = 0; i < numbers.sizes[0]; ++i) {
      const auto place = static_cast<int64_t>(data[i * numbers.strides[0]]);
      if (place < 0) throw UserError(text::cat("bincount: the input has a negative number: ", place), at);
      length = std::max(length, place + 1);
      places.push_back(place);
    }
  });
  if (!weights.defined()) {
    std::vector<int64_t> counts(static_cast<size_t>(length));
    for (const int64_t place : places) ++counts[static_cast<size_t>(place)];
    return integers(counts);
  }
  const InterpreterScope eager(nullptr);
  const std::vector<double> given = weights.detach().to(Dtype::f64, at).contiguous().to_vector<double>(at);
  std::vector<double> sums(static_cast<size_t>(length));
  for (size_t i = 0; i < places.size(); ++i) {
    double& sum = sums[static_cast<size_t>(places[i])];
    sum = single ? static_cast<double>(static_cast<float>(sum) + static_cast<float>(given[i])) : sum + given[i];
  }
  return tensor(sums, {.dtype = single ? Dtype::f32 : Dtype::f64}, at);
}

Tensor histc(const Tensor& input, int64_t bins, double min, double max, SourceLocation at) {
  if (bins < 1) throw UserError(text::cat("histc: bins must be at least 1, not ", bins), at);
  if (!(std::isfinite(min) && std::isfinite(max) && min <= max))
    throw UserError(text::cat("histc: min must not be above max, and both must be finite: ", min, " and ", max), at);
  demand_elements(input, "histc()", at);
  if (!is_floating(input.dtype()))
    throw UserError(text::cat("histc: the input must be floating, not ", type_text(input)), at);
  const InterpreterScope eager(nullptr);
  const std::vector<double> values = input.detach().to(Dtype::f64, at).contiguous().to_vector<double>(at);
  if (min == max && !values.empty()) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    min = *least;
    max = *most;
    if (!std::isfinite(min) || !std::isfinite(max) ||
        std::ranges::any_of(values, [](double v) { return std::isnan(v); }))
      throw UserError(
          text::cat("histc: the range of the elements is not finite: ", min, " to ", max, "; give min and max"), at);
  }
  if (min == max) {
    min -= 1;
    max += 1;
  }
  std::vector<double> counts(static_cast<size_t>(bins));
  for (const double value : values) {
    if (!(value >= min && value <= max)) continue;
    // Multiplied first, as PyTorch rounds: it decides the bin of a value on an edge.
    const auto bin = static_cast<int64_t>((value - min) * static_cast<double>(bins) / (max - min));
    ++counts[static_cast<size_t>(std::min(bin, bins - 1))];
  }
  return tensor(counts, {.dtype = input.dtype()}, at);
}

}  // namespace fulgurite
