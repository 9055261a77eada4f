#pragma once
#include <dnnl.h>

#include "support/containers/first_use.h"

// The runtime that provides oneDNN's threads. Set for the calling thread's present task only: inside, the library is
// serial, and its results do not depend on the number of threads.
extern "C" {
void omp_set_num_threads(int);
int omp_get_max_threads();
}

namespace fulgurite {

class SerialScope {
 public:
  SerialScope() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SerialScope() { omp_set_num_threads(before_); }
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  int before_;
};

// Library objects, destroyed with the scope.
template <class T, dnnl_status_t (*destroy)(T)>
class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (object_ != nullptr) destroy(object_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// For an object that replaces the present one.
  T* address() {
    if (object_ != nullptr) destroy(object_);
    object_ = nullptr;
    return &object_;
  }
  T get() const { return object_; }

 private:
  T object_ = nullptr;
};
using AttributeHandle = Handle<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;
using PostOpsHandle = Handle<dnnl_post_ops_t, dnnl_post_ops_destroy>;
using DescriptorHandle = Handle<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using PrimitiveHandle = Handle<dnnl_primitive_t, dnnl_primitive_destroy>;
using MemoryHandle = Handle<dnnl_memory_t, dnnl_memory_destroy>;
using StreamHandle = Handle<dnnl_stream_t, dnnl_stream_destroy>;

class Engine {
 public:
  /// Null if oneDNN has no engine for the CPU.
  dnnl_engine_t get() const { return handle_.get(); }
  Engine() { dnnl_engine_create(handle_.address(), dnnl_cpu, 0); }

 private:
  Handle<dnnl_engine_t, dnnl_engine_destroy> handle_;
};

inline dnnl_engine_t engine() {
  static constinit FirstUse<Engine> one;
  return one.get([] { return Engine(); }).get();
}

}  // namespace fulgurite
