// expect: fulgurite: grad<I> names an argument that the function does not have
#include <fulgurite/jit.h>
using namespace fulgurite;
void use(Tensor x) {
  auto f = grad<1>([](Tensor y) { return y; });
  f(x);
}
