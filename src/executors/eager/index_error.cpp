#include "executors/eager/index_error.h"

#include "executors/eager/matrix_error.h"
#include "ops/core/call_error.h"

namespace fulgurite {

namespace {

[[noreturn]] void fail(const std::string& message) { throw UnlocatedError(message); }

std::string subject(int64_t matrix, int64_t batch) {
  return batch == 1 ? std::string("the matrix") : text::cat("matrix ", matrix, " of the batch");
}

}  // namespace

void throw_index_error(int64_t place, int64_t size) {
  fail(text::cat("an index tensor holds ", place, ", which is out of range for a dimension of size ", size));
}

void throw_singular_error(int64_t matrix, int64_t batch) { fail(subject(matrix, batch) + " is singular"); }

void throw_indefinite_error(int64_t matrix, int64_t batch) {
  fail(subject(matrix, batch) + " is not positive definite");
}

void throw_division_by_zero() { fail("division of integers by zero"); }

void throw_class_error(int64_t number, int64_t classes) {
  if (number < 0) fail(text::cat("class numbers must not be negative, got ", number));
  fail(text::cat("class numbers must be smaller than num_classes, got ", number, " for ", classes, " classes"));
}

}  // namespace fulgurite
