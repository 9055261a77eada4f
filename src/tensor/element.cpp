#include "tensor/element.h"

#include <cstring>
#include <type_traits>

#include "tensor/half.h"

namespace fulgurite {

namespace {

// Calls visit with a null pointer to the C++ type of this dtype's elements.
template <class Visit>
auto with_type(Dtype dtype, Visit&& visit) {
  switch (dtype) {
    case Dtype::f64: return visit(static_cast<double*>(nullptr));
    case Dtype::f32: return visit(static_cast<float*>(nullptr));
    case Dtype::bf16: return visit(static_cast<BFloat16*>(nullptr));
    case Dtype::f16: return visit(static_cast<Float16*>(nullptr));
    case Dtype::i64: return visit(static_cast<int64_t*>(nullptr));
    case Dtype::i32: return visit(static_cast<int32_t*>(nullptr));
    case Dtype::i16: return visit(static_cast<int16_t*>(nullptr));
    case Dtype::i8: return visit(static_cast<int8_t*>(nullptr));
    case Dtype::u8: return visit(static_cast<uint8_t*>(nullptr));
    case Dtype::boolean: break;
  }
  return visit(static_cast<bool*>(nullptr));
}

template <class Number>
Number read(const void* element, Dtype dtype) {
  return with_type(dtype, [&](auto* type) -> Number {
    std::remove_pointer_t<decltype(type)> value;
    std::memcpy(&value, element, sizeof value);
    if constexpr (std::is_class_v<decltype(value)>) return static_cast<Number>(static_cast<float>(value));
    else return static_cast<Number>(value);
  });
}

template <class Number>
void write(void* element, Dtype dtype, Number number) {
  with_type(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T value;
    if constexpr (std::is_same_v<T, bool>) value = number != 0;
    else if constexpr (std::is_class_v<T>) value = T(static_cast<float>(number));
    // Through int64_t, so that a negative number stored as u8 wraps instead of being undefined.
    else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Number>)
      value = static_cast<T>(static_cast<int64_t>(number));
    else value = static_cast<T>(number);
    std::memcpy(element, &value, sizeof value);
  });
}

}  // namespace

double read_floating(const void* element, Dtype dtype) { return read<double>(element, dtype); }
int64_t read_integer(const void* element, Dtype dtype) { return read<int64_t>(element, dtype); }
void write_floating(void* element, Dtype dtype, double value) { write(element, dtype, value); }
void write_integer(void* element, Dtype dtype, int64_t value) { write(element, dtype, value); }

}  // namespace fulgurite
