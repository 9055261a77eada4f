#pragma once
// A published name is used from outside: whether it does what its page says.
#include <exception>
#include <iostream>
#include <string>

#include <fulgurite/fulgurite.h>

namespace fg = fulgurite;
using fg::Dtype, fg::Float, fg::Int, fg::Shape, fg::Tensor;

inline int failures = 0;
inline void check(bool holds, fg::SourceLocation at = fg::SourceLocation::here()) {
  if (holds) return;
  ++failures;
  std::cout << at.file << ':' << at.line << ": does not hold\n";
}
template <class Run>
std::string error_of(Run&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

void tensors();
void functions();
void traces();
void extending();
void examining();
void engine();
void training();
