#pragma once
#include <dnnl.h>

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
  T* address() { return &object_; }
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

inline dnnl_engine_t engine() {
  static const dnnl_engine_t one = [] {
    dnnl_engine_t made = nullptr;
    return dnnl_engine_create(&made, dnnl_cpu, 0) == dnnl_success ? made : nullptr;
  }();
  return one;
}

}  // namespace fulgurite
