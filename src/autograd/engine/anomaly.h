#pragma once
#include <functional>
#include <string>
#include <vector>

#include <fulgurite/node.h>

namespace fulgurite {

/// Runs `apply`, the backward of `node`. If it fails, a library error names the backward and the user's line of the
/// forward; any other exception propagates unchanged, and that is reported on stderr.
void explain_failure(const Node& node, const std::function<void()>& apply);
bool has_nan(const Tensor&);
/// "SqrtBackward0 gave NaN for the gradient of its input 0; the forward was called at …"
std::string nan_text(const Node& node, size_t input);
/// Throws if one of the node's gradients contains a NaN.
void check_nan(const Node& node, const std::vector<Tensor>& gradients);

}  // namespace fulgurite
