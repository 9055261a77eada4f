#pragma once
#include <map>
#include <string>
#include <vector>

#include <fulgurite/value.h>

namespace fulgurite {

struct Symbol;

/// Translates PyTorch's pooling functions by name: with return_indices=True they are separate operators here, with two
/// results, and None in output_size becomes -1. Returns the operator to call.
const Symbol* translate_pooling(const Symbol* symbol, std::vector<Value>& args, std::map<std::string, Value>& kwargs);

}  // namespace fulgurite
