#pragma once
#include <memory>

#include <fulgurite/jit.h>

#include "pipeline/op_interpreter.h"

namespace fulgurite::detail {

/// What DebugOptions wants to be told of each line: null where nothing. With others, which are told too, before.
std::shared_ptr<const ExecutionObserver> make_execution_observer(const DebugOptions&, std::shared_ptr<const ExecutionObserver> other);

}  // namespace fulgurite::detail
