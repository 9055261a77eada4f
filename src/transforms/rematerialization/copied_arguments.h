#pragma once
#include <vector>

#include <fulgurite/trace.h>

namespace fulgurite {

/// Puts copies of arguments, made in the forward, in the place of these in the operations that the backward repeats;
/// `is_copied` by proxy id.
///
///   t0 = mul(t_0, t_1)                      t0 = mul(t_0, t_1)
///   t1 = add(t0, t_2)       repeated   ->   t2 = clone(t_2)
///                                           t1 = add(t0, t2)       repeated
void copy_repeated_arguments(Trace& joint, const std::vector<char>& is_copied);

}  // namespace fulgurite
