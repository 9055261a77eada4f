#pragma once
#include <atomic>
#include <memory>

namespace fulgurite {

/// A value that is made at its first use and never destroyed, without a lock: of two threads that make it at the same
/// time, one drops its own. A child of fork() finds it made or not made; the guard of a static variable would wait for
/// the parent's thread that was making it.
///
///     static constinit FirstUse<Table> table;
///     return table.get([] { return make_table(); }).find(key);
template <class T>
class FirstUse {
 public:
  template <class Make>
  const T& get(Make&& make) {
    if (const T* const one = made_.load(std::memory_order_acquire)) return *one;
    std::unique_ptr<const T> one(new T(make()));
    const T* other = nullptr;
    if (!made_.compare_exchange_strong(other, one.get(), std::memory_order_acq_rel)) return *other;
    return *one.release();
  }

 private:
  std::atomic<const T*> made_ = nullptr;
};

}  // namespace fulgurite
