// expect: no match
#include <fulgurite/jit.h>
using namespace fulgurite;
void use(Tensor x) {
  auto f = jit([](auto& y) { return y; });
  f(x);
}
