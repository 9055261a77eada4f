#include "pipeline/debug/compare_tensors.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/trace_values.h"
#include "runtime/copy_elements.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite {

namespace {

double largest_of(const std::vector<double>& elements) {
  double largest = 0;
  for (const double element : elements)
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  return largest;
}

}  // namespace

AllowedDifference allowed_difference(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return {1e-9, 1e-11};
    case Dtype::f32: return {1e-4, 1e-5};
    case Dtype::bf16: return {2e-2, 1e-2};
    case Dtype::f16: return {4e-3, 2e-3};
    default: return {};
  }
}

AllowedDifference allowed_difference(Dtype dtype, std::span<const BoundSymbol> lines) {
  AllowedDifference allowed = allowed_difference(dtype);
  if (!is_floating(dtype)) return allowed;
  const auto widen = [&](Dtype made) {
    const AllowedDifference other = allowed_difference(made);
    allowed = {std::max(allowed.relative, other.relative), std::max(allowed.absolute, other.absolute)};
  };
  for (const BoundSymbol& line : lines) {
    for_each_output(line, [&](const Value& value) {
      if (value.is_tensor()) widen(value.tensor().dtype);
    });
    const AllowedDifference inside = allowed_difference(dtype, line.subsymbols.read());
    allowed = {std::max(allowed.relative, inside.relative), std::max(allowed.absolute, inside.absolute)};
  }
  return allowed;
}

std::vector<double> elements_of(const Tensor& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.impl()->numel()));
  if (!out.empty()) copy_elements(tensor, borrow_tensor(out.data(), tensor.impl()->sizes, Dtype::f64));
  return out;
}

std::optional<ElementDifference> find_difference(const Tensor& actual, const Tensor& expected,
                                                 AllowedDifference allowed) {
  const std::vector<double> a = elements_of(actual), b = elements_of(expected);
  constexpr double least = 1e-3;
  const double absolute = allowed.absolute * std::max(largest_of(b), least);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (std::abs(a[i] - b[i]) <= absolute + allowed.relative * std::abs(b[i])) continue;
    return ElementDifference{i, a[i], b[i]};
  }
  return {};
}

double relative_difference(const Tensor& actual, const Tensor& expected) {
  const std::vector<double> a = elements_of(actual), b = elements_of(expected);
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::isfinite(a[i]) && std::isfinite(b[i])) most = std::max(most, std::abs(a[i] - b[i]));
  const double largest = largest_of(b);
  return most == 0 ? 0 : largest == 0 ? std::numeric_limits<double>::infinity() : most / largest;
}

std::string place_text(const Tensor& tensor, size_t index) {
  const Sizes& sizes = tensor.impl()->sizes;
  std::string out = "]";
  for (size_t d = sizes.size(); d-- > 0;) {
    const auto size = static_cast<size_t>(sizes[d]);
    out = text::cat(d > 0 ? ", " : "", index % size, out);
    index /= size;
  }
  return "[" + out;
}

}  // namespace fulgurite
