#pragma once
#include <functional>
#include <string>

#include <fulgurite/jit.h>

namespace fulgurite::cli {

inline constexpr const char* example_models =
    "linear, mlp, gpt, gpt6l, gpt12l, llama, convnet, or a folder of a Hugging Face model; with --library, a function "
    "of it";
inline constexpr const char* library_help = "a shared library that exports MODEL: see fulgurite/exported_function.h";

/// An example model, jitted, and a call of it.
struct Example {
  Jitted function;
  std::function<void()> step;  // with its backward, if requested
};
/// The subject of a command: an example model, the folder of a Hugging Face model, or a function exported by a shared
/// library (fulgurite/exported_function.h).
struct Subject {
  std::string name;
  std::string library = {};
};
/// Throws WrongUse for an unknown name. gpt6l and gpt12l are of a size that is worth measuring.
Example make_example(const Subject&, const JitOptions& = {}, bool runs_backward = false);

/// The model, called once; with `runs_backward` also the backward of its result's sum.
Jitted run_example(const Subject&, const JitOptions& = {}, bool runs_backward = false);

}  // namespace fulgurite::cli
