#pragma once
#include <vector>

#include <fulgurite/profile.h>

#include "runtime/program.h"

namespace fulgurite::examine {

/// The ops of a program's trace without their times, and for each step of its plan the op that it belongs to.
struct DescribedProgram {
  Report::Part part;
  std::vector<int> op_of_step;
};
DescribedProgram describe(const Program&);

/// The operator of an op, or for a fusion the operators in it.
std::string operation_text(const BoundSymbol&);

bool computes_in_bf16(const BoundSymbol&);
/// The machine's minimum time, in microseconds, to move so many bytes and do so many operations.
double min_microseconds(int64_t bytes, int64_t operations, const MachineLimits&, bool is_bf16);

}  // namespace fulgurite::examine
