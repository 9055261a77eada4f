// expect: fulgurite: a const member cannot be filled in; remove the const
#include <fulgurite/jit.h>
using namespace fulgurite;
struct Fixed {
  const Tensor weight = {};
};
void use(Tensor x) {
  auto f = jit([](Fixed b) { return b.weight; });
  f(Fixed{x});
}
