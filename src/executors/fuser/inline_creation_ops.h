#pragma once
#include <fulgurite/trace.h>

namespace fulgurite::fuser {

/// Decomposes ops that read only the sizes of a tensor, so that nothing waits for that tensor: the cotangent of a loss
/// is ones whatever the loss is, and a forward and its backward can be one fusion group.
///   before:  t18 = ones_like(t17)
///              t18 = prims::full({}, 1, {.dtype = Dtype::f32})
///   after:   t18 = prims::full({}, 1, {.dtype = Dtype::f32})
Trace inline_creation_ops(const Trace&);

}  // namespace fulgurite::fuser
