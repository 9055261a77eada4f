// Arguments may have the names that passes give computed values.
#include <fulgurite/fulgurite.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("values made later never take an argument's name") {
  const Trace trace =
      record({parameter({3}, "t1"), parameter({3}, "t3")},
             [](const std::vector<Tensor>& t) -> std::vector<Tensor> { return {exp(t[0]) * tanh(t[1])}; });
  check_trace(trace);
  const ForwardBackwardTraces traces = forward_and_backward_from_trace(trace);
  check_trace(traces.forward);
  check_trace(traces.backward);
}
