#pragma once
#include <memory>

#include "compiled_autograd/captures.h"

namespace fulgurite {

/// A backward that is to be run.
struct BackwardRequest {
  const BackwardCall& call;
  const BackwardGraph& graph;
  const std::vector<Tensor>& inputs;  // what gather_inputs() gave
  const compiled_autograd::Options& options;
};

/// The program for a backward that none is kept for: of a capture of its structure that serves its sizes, or of a new one, which is logged.
/// Keeps it under the key.
std::shared_ptr<const CompiledBackward> compile_backward(const BackwardRequest&, StructureOfBackward&, const BackwardSizes&, BackwardKey);

}  // namespace fulgurite
