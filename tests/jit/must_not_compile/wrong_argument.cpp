// expect: no match
#include <fulgurite/jit.h>
using namespace fulgurite;
void use(Tensor x) {
  auto f = jit([](Tensor y, double s) { return y * s; });
  f(x, x);
}
