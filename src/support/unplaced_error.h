#pragma once
#include <fulgurite/error.h>

namespace fulgurite {

/// An error found where the call that it belongs to is not known: in a kernel, in arithmetic on sizes. Who runs the call adds it.
class UnplacedError : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace fulgurite
