#pragma once
#include <string>

#include <fulgurite/jit.h>

namespace fulgurite::cli {

inline constexpr const char* example_models = "linear, mlp, gpt, llama or convnet";

/// An example model, jitted and called once; with `runs_backward` also the backward of its result's sum. Throws UserError for an unknown name.
Jitted run_example(const std::string& name, const JitOptions& = {}, bool runs_backward = false);

}  // namespace fulgurite::cli
