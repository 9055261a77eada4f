// expect: fulgurite: a tensor has no elements of this C++ type. There are double (f64), float (f32), int64_t
#include <fulgurite/tensor.h>
using namespace fulgurite;
const uint16_t* read(const Tensor& x) { return x.data<const uint16_t>(); }
