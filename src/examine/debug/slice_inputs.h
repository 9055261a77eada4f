#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "support/context.h"

namespace fulgurite::examine {

/// Throws UserError inside a traced function.
void check_not_recording(const char* what);

/// The complete trace with tensors only as inputs: collections are flattened, symbolic scalars have the values of the
/// recorded call.
Trace concrete(const Trace&);
/// The inputs of `concrete(trace)`, or of a slice of it that needs nothing else, selected from the flattened inputs of
/// the trace.
std::vector<Tensor> chosen(const Trace& trace, const Trace& slice, const std::vector<Tensor>& inputs);

std::vector<Tensor> copies(const std::vector<Tensor>&);

/// All runs draw the same numbers, and leave the generator's state unchanged.
class SameDraws {
 public:
  SameDraws() : state_(context().generator.state()) {}
  ~SameDraws() { again(); }
  SameDraws(const SameDraws&) = delete;
  SameDraws& operator=(const SameDraws&) = delete;
  void again() const { context().generator.set_state(state_); }

 private:
  const RandomState state_;
};

}  // namespace fulgurite::examine
