#pragma once
#include <string>

#include <fulgurite/fulgurite.h>

#include "executors/registry.h"
#include "support/test.h"

namespace fulgurite::test {

inline int fusions_in(const Trace& trace) {
  int count = 0;
  for (const BoundSymbol& bound : trace.bound_symbols) count += bound.is_fusion();
  return count;
}

/// The text of a trace's kernel by its number.
inline std::string kernel_of(const Trace& trace, int number) {
  for (const BoundSymbol& bound : trace.bound_symbols)
    if (bound.is_fusion() && number-- == 0) return std::string(bound.implementation->fusion->text());
  return {};
}

inline void expect_close(const Tensor& actual, const Tensor& expected, double tolerance = 1e-6,
                         SourceLocation at = SourceLocation::here()) {
  expect_equal(actual.shape().text(), expected.shape().text(), at);
  expect_near(actual.to(Dtype::f64).contiguous().to_vector<double>(),
              expected.to(Dtype::f64).contiguous().to_vector<double>(), tolerance, at);
}

}  // namespace fulgurite::test
