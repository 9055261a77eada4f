#include "autograd/anomaly.h"

#include <cmath>
#include <cstdio>

#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "autograd/modes.h"
#include "ir/source_lines.h"
#include "support/text.h"

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

void check_nan(const Node& node, const std::vector<Tensor>& gradients) {
  const GradModeScope no_grad(false);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined() || !is_floating(gradients[i].dtype())) continue;
    const Tensor flags = isnan(gradients[i]);
    const Tensor found = any(flags);
    if (found.item<bool>())
      throw UserError(text::cat(node.name(), " gave NaN for the gradient of its input ", i, forward_text(node)));
  }
}

}  // namespace fulgurite
