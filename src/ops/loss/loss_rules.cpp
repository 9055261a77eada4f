#include "ops/loss/loss_rules.h"

#include <algorithm>

#include <fulgurite/error.h>

#include "ops/core/dispatch.h"
#include "support/context.h"
#include "support/log.h"

namespace fulgurite {

std::string_view reduction_of(const Argument& size_average, const Argument& reduce, const Argument& reduction) {
  std::string_view wanted = reduction.string();
  if (!size_average.is_none() || !reduce.is_none()) {
    const bool reduces = reduce.is_none() || reduce.boolean(),
               averages = size_average.is_none() || size_average.boolean();
    wanted = !reduces ? "none" : averages ? "mean" : "sum";
  }
  require(wanted == "mean" || wanted == "sum" || wanted == "none",
          "reduction must be \"mean\", \"sum\" or \"none\", got \"", wanted, "\"");
  return wanted;
}

Tensor reduced(const Tensor& loss, std::string_view reduction, SourceLocation at) {
  if (reduction == "none") return loss;
  return reduction == "sum" ? sum(loss, {}, false, {}, at) : mean(loss, {}, false, {}, at);
}

Tensor unreduced(const Tensor& cotangent, const Shape& shape, std::string_view reduction) {
  if (reduction == "none") return cotangent;
  if (reduction == "sum") return expand(cotangent, shape);
  const Tensor share = div(cotangent, shape.numel());
  return expand(share, shape);
}

void warn_of_broadcasting(std::string_view loss, const Tensor& input, const Tensor& target, SourceLocation at) {
  const Shape &of_input = input.shape(), &of_target = target.shape();
  // Compares hints: a warning adds no guard.
  const bool is_same =
      std::ranges::equal(of_input, of_target, [](const Int& a, const Int& b) { return a.hint() == b.hint(); });
  if (is_same || !context().warned_lines.add(at)) return;
  const UserError warning(
      text::cat(loss, ": the target's shape ", of_target, " is not the input's, ", of_input, ": both are broadcast to ",
                broadcast_shapes(of_input, of_target),
                ", and the loss is that of all pairs, which is rarely meant. Give them one shape first "
                "(reshape, squeeze or unsqueeze)"),
      at);
  std::string text = warning.what();
  std::erase(text, '\n');  // one line
  warn(text);
}

Tensor raised_to(const Tensor& x, Float least, SourceLocation at) {
  const Tensor raised = clamp_min(x, least, at);
  const Tensor difference = sub(raised, x, 1, at);
  const Tensor constant = detach(difference, at);
  return add(x, constant, 1, at);
}

}  // namespace fulgurite
