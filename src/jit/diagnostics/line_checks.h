#pragma once
#include <memory>

#include <fulgurite/jit.h>

#include "pipeline/op_interpreter.h"

namespace fulgurite::detail {

/// The observer of each op for DebugOptions: null if none is needed. `others` are notified first.
std::shared_ptr<const ExecutionObserver> make_execution_observer(const DebugOptions&,
                                                                 std::shared_ptr<const ExecutionObserver> other);

}  // namespace fulgurite::detail
