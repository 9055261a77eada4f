#include "ir/analysis/sizes.h"

namespace fulgurite {

int64_t element_count(const TensorProxy& proxy) {
  int64_t count = 1;
  for (const Int size : proxy.shape) count *= size.hint();
  return count;
}
int64_t element_count(const Value& value) { return value.is_tensor() ? element_count(value.tensor()) : 1; }

int64_t bytes_of(const TensorProxy& proxy) { return element_count(proxy) * size_of(proxy.dtype); }
int64_t bytes_of(const Value& value) {
  if (value.is_tensor()) return bytes_of(value.tensor());
  return value.is_proxy() ? 8 : 0;
}

}  // namespace fulgurite
