#pragma once
#include <fulgurite/detail/requirements.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite {

/// Calls body(context, 0) on the calling thread and body(context, i) for 0 < i < threads on others, at most once each,
/// at the same time, and returns when the calls have returned. Calls that are not made cost time only: the others do
/// their work. `body` does not throw.
using ThreadRunner = void (*)(int threads, void (*body)(void* context, int thread), void* context);

/// Runs the parallel work of operators and compiled functions with `runner`: on threads that the program has anyway,
/// those of its OpenMP runtime for example. Threads of two runtimes would compete for the CPUs while they wait for
/// work. Null, the default: threads of the library. It is not called within parallel work, nor from two threads at the
/// same time, nor in a child of fork(), which has only the calling thread.
void set_thread_runner(ThreadRunner runner);

}  // namespace fulgurite

#include <fulgurite/detail/restore_macros.h>
