#include <fulgurite/autograd.h>

#include "autograd/tensor_autograd.h"
#include "ops/dispatch.h"

namespace fulgurite {

namespace {
thread_local bool enabled = true;
}

bool grad_enabled() { return enabled; }

GradModeScope::GradModeScope(bool value) : previous_(enabled) { enabled = value; }
GradModeScope::~GradModeScope() { enabled = previous_; }

NoGrad::NoGrad() : previous_(enabled) { enabled = false; }
NoGrad::~NoGrad() { enabled = previous_; }

EnableGrad::EnableGrad() : previous_(enabled) { enabled = true; }
EnableGrad::~EnableGrad() { enabled = previous_; }

}  // namespace fulgurite
