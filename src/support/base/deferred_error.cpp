#include "support/base/deferred_error.h"

#include <utility>

namespace fulgurite {

namespace {

// The flag spares a look at what has a destructor, which is made at its first use.
thread_local constinit bool is_deferred = false;
std::exception_ptr& deferred() {
  thread_local std::exception_ptr error;
  return error;
}

}  // namespace

void defer_error(std::exception_ptr error) {
  deferred() = std::move(error);
  is_deferred = true;
}

void throw_deferred_error() {
  if (!is_deferred) return;
  is_deferred = false;
  std::rethrow_exception(std::exchange(deferred(), nullptr));
}

void forget_deferred_error() {
  if (!is_deferred) return;
  is_deferred = false;
  deferred() = nullptr;
}

}  // namespace fulgurite
