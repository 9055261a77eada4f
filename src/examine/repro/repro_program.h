#pragma once
#include <string>
#include <vector>

#include <fulgurite/examine.h>

#include "executors/registry.h"

namespace fulgurite::examine {

/// What a repro program is about.
struct ReproProgram {
  std::string title;                   // "fusion0 of computation"
  std::string file;                    // without its ending: "fusion0"
  Trace lines;                         // nobody's, named "reference"
  Trace executed;                      // how they run here
  std::vector<FusionInput> inputs, outputs;
  const FusedKernel* kernel = nullptr; // of a fusion that has one
  std::string kernel_name;
  std::vector<std::string> executors;  // who runs them in the program; empty: the default list
  ReproOptions options;

  /// Places among the inputs of what the lines write into.
  std::vector<size_t> written() const;
  std::vector<Tensor> make_inputs() const;
};

std::string cpp_program(const ReproProgram&);
/// With results that these lines gave here written into it.
std::string python_program(const ReproProgram&);

}  // namespace fulgurite::examine
