#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include <fulgurite/examine.h>

#include "runtime/program.h"

namespace fulgurite::examine {

/// The programs that the last call of a function ran: forwards, then compiled backwards.
std::vector<std::shared_ptr<const Program>> programs_of_last_call(const Jitted&, const char* what);

/// A fusion in a program of a jitted function.
struct FoundFusion {
  std::shared_ptr<const Program> program;
  const BoundSymbol* bound = nullptr;  // the program's
};
/// Throws UserError naming the fusions that there are.
FoundFusion find_fusion(const Jitted&, std::string_view name, const char* what);
/// A fusion's inputs, then its outputs, with their layout in the last run of its program.
struct FusionTensors {
  std::vector<FusionInput> inputs, outputs;
};
FusionTensors tensors_of(const FoundFusion&);

/// The number of distinct elements in memory that a tensor of this layout touches.
int64_t distinct_elements(const FusionInput&);

}  // namespace fulgurite::examine
