#pragma once
#include <string>
#include <vector>

#include <fulgurite/fulgurite.h>

namespace fulgurite::test {

/// The inputs of a random function with branches on sizes and scalars.
struct BranchInputs {
  Tensor a, b;
  Int n = 0;
  Float s = 0;
};

/// A random function of two tensors, an Int and a Float. Its computation depends on sizes and scalars: by branches, and
/// by arithmetic with them. Some calls are errors.
Tensor run_branch_program(unsigned seed, Tensor a, Tensor b, Int n, Float s);
/// Inputs that fit the function, most of the time; their ranks depend on `seed` alone, sizes and scalars on `call`.
BranchInputs branch_inputs(unsigned seed, unsigned call);

struct BranchCounts {
  int64_t programs = 0, calls = 0, hits = 0, errors = 0;
  std::vector<std::string> constants;  // why some were recorded with constants
};
/// Calls a function with symbols for several inputs, compares with eager mode and gradients: "" or the difference.
std::string check_branch_program(unsigned seed, BranchCounts&);

}  // namespace fulgurite::test
