#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::fuser {

/// A line that reads of a tensor only its sizes becomes what it is made of, so that nothing waits for that tensor: the cotangent of a loss is
/// ones whatever the loss is, and a forward and its backward can be one region.
///   before:  t18 = ones_like(t17)
///              t18 = prims::full({}, 1, {.dtype = Dtype::f32})
///   after:   t18 = prims::full({}, 1, {.dtype = Dtype::f32})
Trace inline_creation_ops(const Trace&);

}  // namespace fulgurite::fuser
