#pragma once
#include <string>
#include <vector>

#include <fulgurite/trace.h>

#include "support/context.h"

namespace fulgurite::examine {

/// Throws UserError inside a traced function.
void check_not_recording(const char* what);

/// All lines of a trace as one whose inputs are tensors: collections opened, number symbols with the values of the recorded call.
Trace concrete(const Trace&);
/// The inputs of `concrete(trace)`, or of another slice of it that needs nothing else, from those of the trace with collections opened.
std::vector<Tensor> chosen(const Trace& trace, const Trace& slice, const std::vector<Tensor>& inputs);

std::vector<Tensor> copies(const std::vector<Tensor>&);

/// Runs draw the same numbers, whatever they are run for, and leave the generator as it was.
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
