#pragma once
#include <functional>
#include <vector>

#include <fulgurite/trace.h>

#include "ops/core/rules.h"
#include "tracing/tracer.h"

namespace fulgurite::test {

/// An argument of a recorded function.
struct Input {
  Shape shape;
  Dtype dtype = Dtype::f32;
  bool requires_grad = false;
  std::string name = {};
};
inline Input f32(Shape shape) { return {shape}; }
/// A tensor whose gradient is wanted.
inline Input parameter(Shape shape, std::string name = {}) { return {shape, Dtype::f32, true, std::move(name)}; }

/// The trace of a function, as the tracer leaves it: not yet in canonical order.
inline Trace record_raw(const std::vector<Input>& inputs,
                        const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function) {
  Tracer tracer;
  const InterpreterScope scope(&tracer);
  std::vector<Tensor> handles;
  for (const Input& input : inputs)
    handles.push_back(tracer.add_argument({input.shape, input.dtype, {}}, input.requires_grad, input.name));
  std::vector<Value> results;
  for (const Tensor& result : function(handles)) results.push_back(tracer.value_of(result));
  return tracer.finish(std::move(results));
}
inline Trace record(const std::vector<Input>& inputs,
                    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function) {
  return canonical_order(record_raw(inputs, function));
}

}  // namespace fulgurite::test
