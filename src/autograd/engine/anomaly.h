#pragma once
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/node.h>

namespace fulgurite {

/// Runs `apply`, the backward of `node`. Where it fails, an error of the library's says in which backward and of which line of the forward;
/// any other goes on as it is, and that is said on stderr.
void explain_failure(const Node& node, const std::function<void()>& apply);
bool has_nan(const Tensor&);
/// "SqrtBackward0 gave NaN for the gradient of its input 0; the forward was called at …"
std::string nan_text(const Node& node, size_t input);
/// Throws where a gradient that the node made has a NaN.
void check_nan(const Node& node, const std::vector<Tensor>& gradients);

}  // namespace fulgurite
