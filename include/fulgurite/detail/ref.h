#pragma once
#include <fulgurite/detail/requirements.h>

#include <atomic>
#include <cstddef>
#include <utility>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite::detail {

/// Base of reference-counted objects.
struct Counted {
  mutable std::atomic<int> owners{0};
  Counted() = default;
  Counted(const Counted&) {}
  Counted& operator=(const Counted&) { return *this; }
};

/// Shared ownership of a Counted object. `retain(const T*)` and `release(const T*)` are found by argument-dependent
/// lookup, so T may be incomplete where a Ref is only stored.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) retain(object_);
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) retain(object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) release(object_);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace fulgurite::detail

#include <fulgurite/detail/restore_macros.h>
