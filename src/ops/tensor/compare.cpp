#include <utility>

#include <fulgurite/compare.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "support/text/text.h"

namespace fulgurite {

bool equal(const Tensor& input, const Tensor& other, SourceLocation at) {
  for (const auto& [tensor, name] : {std::pair(&input, "input"), std::pair(&other, "other")})
    if (!tensor->defined()) throw UserError(text::cat("equal(): ", name, " is an undefined tensor"), at);
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
