// expect: fulgurite: tensors are not made from elements of this C++ type. There are double (f64), float (f32), int64_t
#include <fulgurite/memory.h>
using namespace fulgurite;
Tensor make(std::span<const char> text) { return tensor(text, {2, 3}); }
