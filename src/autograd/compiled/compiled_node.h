#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fulgurite/autograd.h>
#include <fulgurite/trace.h>

#include "runtime/program.h"

namespace fulgurite {

/// The name of nodes for the backward of a jitted function.
inline constexpr const char* jitted_node_name = "CompiledBackward";

/// A backward with symbols for its call's sizes, and their values in this call: for recordings that serve other sizes
/// too.
struct SymbolicBackward {
  std::shared_ptr<const Trace> trace;
  /// By result: stands for a symbolic scalar among the forward's inputs, which has no gradient.
  std::vector<char> is_number;
  std::vector<int64_t> sizes;  // by NumberProxy::input
};

/// Makes `outputs` the results of a differentiable call on `inputs` whose backward is compiled: they require grad and
/// share one node.
///
/// `saved` holds the augmented forward's saved tensors (C0), in order; `backward` accepts them, then one cotangent for
/// each output. `forward` is the augmented forward's program: with it, values made and saved inside the call can be
/// differentiated twice. With `symbolic`, from which the programs were specialized, a captured backward serves other
/// sizes as well. An undefined or non-floating output carries no gradient; an input that is undefined or does not
/// require grad gets none. An input that is also an output keeps its own history: pass it as undefined among the
/// outputs.
void attach_compiled_node(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, std::vector<Tensor> saved,
                          std::shared_ptr<const Program> backward, std::string name,
                          std::shared_ptr<const Program> forward = nullptr,
                          std::shared_ptr<const SymbolicBackward> symbolic = nullptr);

}  // namespace fulgurite
