// expect: fulgurite: an aggregate with a reference member, or with one that {} does not make; hold values, or
// specialise fulgurite::Fields for it
#include <fulgurite/jit.h>
using namespace fulgurite;
struct Borrowed {
  Tensor& weight;
};
void use(Tensor x) {
  auto f = jit([](Borrowed b) { return b.weight; });
  f(Borrowed{x});
}
