#pragma once
#include <atomic>
#include <mutex>

namespace fulgurite {

/// An object of the process that is made at its first use. It is never destroyed: static destructors may still run
/// operators, and traces may outlive them. Thread-safe; T may be incomplete where the object is declared.
template <class T>
class Lasting {
 public:
  /// The object, which `make()` returns a pointer to when it is called first.
  template <class Make>
  T& get(Make&& make) {
    if (T* const made = object_.load(std::memory_order_acquire)) [[likely]]
      return *made;
    return make_once(make);
  }
  T& get() {
    return get([] { return new T; });
  }

 private:
  template <class Make>
  [[gnu::cold, gnu::noinline]] T& make_once(Make& make) {
    const std::lock_guard lock(making_);
    if (T* const made = object_.load(std::memory_order_relaxed)) return *made;
    T* const made = make();
    object_.store(made, std::memory_order_release);
    return *made;
  }

  std::atomic<T*> object_{nullptr};
  std::mutex making_;
};

}  // namespace fulgurite
