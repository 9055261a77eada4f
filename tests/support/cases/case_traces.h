#pragma once
#include <vector>

#include <fulgurite/trace.h>

#include "support/cases/operator_cases.h"

namespace fulgurite::test {

/// A case as a trace of its one call, differentiated, with the results of one run of the forward.
struct CaseTraces {
  Trace forward, backward;
  std::vector<Tensor> inputs, results, saved;
  std::vector<Tensor> cotangents;  // by result: weights_like(result, position), or ones; undefined where none is asked

  /// The results of this backward, or one changed from it, for these saved tensors: the gradient of each input,
  /// undefined for none.
  std::vector<Tensor> run_backward(const Trace& trace, const std::vector<Tensor>& saved_tensors) const;
};

/// The case's call with these inputs, recorded, in canonical order.
Trace record_case(const OperatorCase&, const std::vector<Tensor>& inputs);
CaseTraces differentiate_case(const OperatorCase&);

/// For each of the case's inputs the parameter that it is given for.
std::vector<const Parameter*> parameters_of_inputs(const OperatorCase&);

}  // namespace fulgurite::test
