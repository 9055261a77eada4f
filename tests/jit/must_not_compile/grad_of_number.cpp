// expect: fulgurite: grad needs a function that returns a scalar tensor, or a tuple whose first element is one
#include <fulgurite/jit.h>
using namespace fulgurite;
void use(Tensor x) {
  auto f = grad([](Tensor) { return 1.0; });
  f(x);
}
