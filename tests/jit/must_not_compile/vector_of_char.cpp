// expect: fulgurite: tensors are not made from elements of this C++ type. There are double (f64), float (f32), int64_t
#include <fulgurite/tensor.h>
using namespace fulgurite;
Tensor make() { return tensor(std::vector<char>{1, 2}); }
