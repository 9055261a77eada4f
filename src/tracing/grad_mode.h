#pragma once
#include <optional>

#include <fulgurite/autograd.h>

namespace fulgurite {

/// Turns gradients on or off for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) {
    if (enabled) enable_.emplace();
    else disable_.emplace();
  }

 private:
  std::optional<EnableGrad> enable_;
  std::optional<NoGrad> disable_;
};

}  // namespace fulgurite
