#include "autograd/engine/engine.h"

#include <fulgurite/error.h>

#include "autograd/engine/backward_run.h"
#include "autograd/engine/modes.h"
#include "support/context.h"

namespace fulgurite {

std::vector<Tensor> run_backward(BackwardCall call) {
  BackwardInterceptor* interceptor = autograd_modes().interceptor;
  if (interceptor == nullptr) interceptor = context().interceptor.load(std::memory_order_acquire);
  if (interceptor != nullptr && BackwardRun::innermost() == nullptr)
    if (std::optional<std::vector<Tensor>> captured = interceptor->run(call)) return std::move(*captured);
  BackwardRun run(std::move(call));
  std::vector<Tensor> captured = run.run();
  run.run_callbacks();
  return captured;
}

void at_end_of_backward(std::function<void()> action) {
  if (BackwardRun* const run = BackwardRun::innermost()) run->at_end(std::move(action));
  else action();
}

void autograd::queue_callback(std::function<void()> callback, SourceLocation at) {
  BackwardRun* const run = BackwardRun::innermost();
  if (!run)
    throw UserError(
        "queue_callback(): no backward runs on this thread; call it from a hook or a custom function's backward", at);
  run->queue_callback(std::move(callback));
}

}  // namespace fulgurite
