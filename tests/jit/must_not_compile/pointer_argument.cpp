// expect: fulgurite: a pointer cannot be part of an argument, a result or a model; hold the value itself
#include <fulgurite/jit.h>
using namespace fulgurite;
void use(Tensor x) {
  auto f = jit([](Tensor y, Tensor* z) { return y + *z; });
  f(x, &x);
}
