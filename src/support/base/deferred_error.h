#pragma once
#include <exception>

namespace fulgurite {

// An error about a value that may not be needed: x(mask) has none inside a trace, but x(mask) = value asks for none.
// The thread keeps the last one, and an undefined tensor stands for the value; whatever is asked of that throws the
// error.

void defer_error(std::exception_ptr error);
/// Throws this thread's deferred error, if there is one.
void throw_deferred_error();
void forget_deferred_error();

}  // namespace fulgurite
