#pragma once
#include <string>

#include <fulgurite/trace.h>

namespace fulgurite::test {

/// Puts runs of two or more pointwise lines into one line each: a fusion named `name` and a number, whose subsymbols
/// they are.
///
///   t0 = sin(t_0)
///   t1 = exp(t0)          ->     [t1] = fusion0(t_0)
///   t2 = sum(t1)                 t2 = sum(t1)
Trace fuse_pointwise(const Trace&, const std::string& name);

}  // namespace fulgurite::test
