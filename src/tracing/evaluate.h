#pragma once
#include <span>
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// As evaluate() of tracing/tracer.h, of a trace with number symbols, whose args that are symbols are left out of `inputs`. `given` are the
/// values or symbols that stand for those which a call gives, by NumberProxy::input; numbers made of them are made again, and what was asked
/// of one is asked of what stands for it. Their values must be those of the recorded call.
std::vector<Tensor> evaluate(const Trace&, std::span<const Tensor> inputs, std::span<const Int> given);

}  // namespace fulgurite
