#include "autograd/engine/anomaly.h"

#include <cmath>
#include <cstdio>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/engine/modes.h"
#include "ir/printing/source_lines.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

std::string forward_text(const Node& node) {
  if (node.source().line == 0) return {};
  return text::cat("; the forward was called at ", SourceLines().text(node.source()));
}

}  // namespace

void explain_failure(const Node& node, const std::function<void()>& apply) {
  try {
    apply();
  } catch (const UserError& error) {
    throw UserError(text::cat(error.what(), "\nin ", node.name(), forward_text(node)));
  } catch (...) {
    std::fprintf(stderr, "fulgurite: an error in %s%s\n", node.name().c_str(), forward_text(node).c_str());
    throw;
  }
}

bool has_nan(const Tensor& tensor) {
  if (!tensor.defined() || !is_floating(tensor.dtype())) return false;
  const GradModeScope no_grad(false);
  const Tensor flags = isnan(tensor);
  const Tensor found = any(flags);
  return found.item<bool>();
}

std::string nan_text(const Node& node, size_t input) {
  return text::cat(node.name(), " gave NaN for the gradient of its input ", input, forward_text(node));
}

void check_nan(const Node& node, const std::vector<Tensor>& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i)
    if (has_nan(gradients[i])) throw UserError(nan_text(node, i));
}

}  // namespace fulgurite
