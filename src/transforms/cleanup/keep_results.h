#pragma once
#include <fulgurite/trace.h>

namespace fulgurite {

/// The trace with these of its results, in this order. Others share memory with an argument or with one of these: their
/// views are built after the call.
///
///   t0 = softmax(t_0, -1)                   t0 = softmax(t_0, -1)
///   t1 = view(t0, (-1,))             ->     t1 = view(t0, (-1,))
///   return t0, t1                           return t0
Trace keep_results(const Trace&, const std::vector<int>& kept);

}  // namespace fulgurite
