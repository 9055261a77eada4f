#pragma once
#include "ops/core/dispatch.h"

namespace fulgurite {

/// Runs a call immediately without recording: its kernel, a view, or its decomposition.
void execute(const Symbol&, Arguments, SourceLocation, Results&);

}  // namespace fulgurite
