#include <fulgurite/compare.h>
#include <fulgurite/operators.h>

namespace fulgurite {

bool equal(const Tensor& input, const Tensor& other, SourceLocation at) {
  if (input.shape() != other.shape()) return false;
  const Tensor same = eq(input, other, at);
  const Tensor answer = all(same, {}, false, at);
  return answer.item<bool>(at);
}

bool allclose(const Tensor& input, const Tensor& other, Float rtol, Float atol, bool equal_nan, SourceLocation at) {
  const Tensor close = isclose(input, other, rtol, atol, equal_nan, at);
  const Tensor answer = all(close, {}, false, at);
  return answer.item<bool>(at);
}

}  // namespace fulgurite
