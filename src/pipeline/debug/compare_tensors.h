#pragma once
#include <optional>
#include <span>
#include <string>

#include <fulgurite/tensor.h>
#include <fulgurite/trace.h>

namespace fulgurite {

/// How far elements may be apart: |a - b| <= relative * |b| + absolute * the largest finite |b| of the tensor (at least 1e-3).
struct AllowedDifference {
  double relative = 0, absolute = 0;
};
/// What two ways of computing a result may differ by: nothing where it is not floating.
AllowedDifference allowed_difference(Dtype);

/// The same for a result of lines that round to shorter types on the way, which another executor may not do: as the shortest type made allows.
AllowedDifference allowed_difference(Dtype, std::span<const BoundSymbol> lines);

/// The elements as doubles, in row-major order.
std::vector<double> elements_of(const Tensor&);

/// The first element that is too far from what is expected (NaN equals NaN).
struct ElementDifference {
  size_t index = 0;
  double actual = 0, expected = 0;
};
std::optional<ElementDifference> find_difference(const Tensor& actual, const Tensor& expected, AllowedDifference);
/// The largest |a - b| over the largest |b|.
double relative_difference(const Tensor& actual, const Tensor& expected);

/// "[2, 3]": the place of an element by its number.
std::string place_text(const Tensor&, size_t index);

}  // namespace fulgurite
