// expect: fulgurite: a class with a base class cannot be taken apart; make it a plain aggregate or specialise
// fulgurite::Fields for it
#include <fulgurite/jit.h>
using namespace fulgurite;
struct Base {
  Tensor weight;
};
struct Derived : Base {
  Tensor bias;
};
void use(Tensor x) {
  auto f = jit([](Derived d) { return d.weight + d.bias; });
  f(Derived{{x}, x});
}
