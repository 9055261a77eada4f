#pragma once
#include <optional>
#include <span>
#include <string>

#include <fulgurite/tensor.h>
#include <fulgurite/trace.h>

namespace fulgurite {

/// The tolerance of elements: |a - b| <= relative * |b| + absolute * the largest finite |b| of the tensor (at least
/// 1e-3).
struct AllowedDifference {
  double relative = 0, absolute = 0;
};
/// The difference allowed between two ways of computing a result: none for integers and booleans.
AllowedDifference allowed_difference(Dtype);

/// The same for a result of ops that round to shorter types on the way, which another executor may not do: the
/// tolerance of the shortest type computed.
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

/// "[2, 3]": the index of an element, from its position.
std::string place_text(const Tensor&, size_t index);

}  // namespace fulgurite
