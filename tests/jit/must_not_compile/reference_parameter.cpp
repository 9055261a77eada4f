// expect: fulgurite: a traced function takes its arguments by value or const reference; return what it changes
#include <fulgurite/jit.h>
using namespace fulgurite;
void use(Tensor x) {
  auto f = jit([](Tensor& y) { y = y + 1.0; });
  f(x);
}
