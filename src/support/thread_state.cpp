#include "support/thread_state.h"

#include <cxxabi.h>

#include <type_traits>

extern "C" void* __dso_handle;  // of the library or program that contains this file

namespace fulgurite {

static_assert(std::is_trivially_destructible_v<ThreadState>);

thread_local constinit ThreadState thread_state;

void at_thread_end(void (*end)(void*), void* argument) {
  __cxxabiv1::__cxa_thread_atexit(end, argument, &__dso_handle);
}

}  // namespace fulgurite
