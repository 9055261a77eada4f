#pragma once
#include <map>
#include <string>
#include <vector>

#include <fulgurite/value.h>

namespace fulgurite {

struct Symbol;

/// PyTorch's pooling functions by name: with return_indices=True they are other operators here, of two results, and in
/// output_size None stands for -1. Returns the operator that is meant.
const Symbol* translate_pooling(const Symbol* symbol, std::vector<Value>& args, std::map<std::string, Value>& kwargs);

}  // namespace fulgurite
