#include "support/base/deferred_error.h"

#include <utility>

#include "support/thread_state.h"

namespace fulgurite {

namespace {

void forget_at_end(void* error) {
  thread_state.has_deferred_error = false;
  thread_state.deferred_error = nullptr;
  delete static_cast<std::exception_ptr*>(error);
}

std::exception_ptr& deferred() {
  if (thread_state.deferred_error == nullptr) {
    thread_state.deferred_error = new std::exception_ptr;  // NOLINT(bugprone-throw-keyword-missing): for a thread
    at_thread_end(forget_at_end, thread_state.deferred_error);
  }
  return *thread_state.deferred_error;
}

}  // namespace

void defer_error(std::exception_ptr error) {
  deferred() = std::move(error);
  thread_state.has_deferred_error = true;
}

void throw_deferred_error() {
  if (!thread_state.has_deferred_error) return;
  thread_state.has_deferred_error = false;
  std::rethrow_exception(std::exchange(deferred(), nullptr));
}

void forget_deferred_error() {
  if (!thread_state.has_deferred_error) return;
  thread_state.has_deferred_error = false;
  deferred() = nullptr;
}

}  // namespace fulgurite
