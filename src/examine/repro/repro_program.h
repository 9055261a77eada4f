#pragma once
#include <string>
#include <vector>

#include <fulgurite/examine.h>

#include "executors/registry.h"

namespace fulgurite::examine {

/// The contents of a repro program.
struct ReproProgram {
  std::string title;  // "fusion0 of computation"
  std::string file;   // without its ending: "fusion0"
  Trace lines;        // unclaimed, named "reference"
  Trace executed;     // how they run here
  std::vector<FusionInput> inputs, outputs;
  const FusedKernel* kernel = nullptr;  // of a fusion that has one
  std::string kernel_name;
  std::vector<std::string> executors;  // the executors that run them in the program; empty: the default list
  ReproOptions options;

  /// Positions of the inputs that the ops write into.
  std::vector<size_t> written() const;
  std::vector<Tensor> make_inputs() const;
};

std::string cpp_program(const ReproProgram&);
/// Includes the results that these ops computed here.
std::string python_program(const ReproProgram&);

}  // namespace fulgurite::examine
