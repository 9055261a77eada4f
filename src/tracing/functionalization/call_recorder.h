#pragma once
#include <fulgurite/trace.h>

#include "ops/core/argument.h"
#include "ops/core/rules.h"

namespace fulgurite {

/// Records operator calls for the parts of a tracer that recreate values. The tracer implements it, so that these parts
/// do not depend on it.
class CallRecorder {
 public:
  CallRecorder() = default;
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  /// The tensor's handle in the trace, up to date with writes; a concrete tensor becomes an input.
  virtual Tensor current(const Tensor&, SourceLocation) = 0;
  /// The value of that handle.
  virtual Value value_of(const Tensor&) = 0;
  /// Records a call of a symbol without looking at its decomposition. The arguments are up to date.
  virtual void record_primitive(const Symbol&, Arguments, SourceLocation, Results&) = 0;

 protected:
  ~CallRecorder() = default;
};

}  // namespace fulgurite
