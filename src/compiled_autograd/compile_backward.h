#pragma once
#include <memory>

#include "compiled_autograd/captures.h"

namespace fulgurite {

/// A backward to be run.
struct BackwardRequest {
  const BackwardCall& call;
  const BackwardGraph& graph;
  const std::vector<Tensor>& inputs;  // the result of gather_inputs()
  const compiled_autograd::Options& options;
};

/// Compiles a backward that is not in the cache: from a capture of its structure that serves its sizes, or from a new
/// one, which is logged. Stores the program under the key.
std::shared_ptr<const BackwardProgram> compile_backward(const BackwardRequest&, StructureOfBackward&,
                                                        const BackwardSizes&, BackwardKey);

}  // namespace fulgurite
