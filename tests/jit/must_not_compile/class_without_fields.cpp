// expect: fulgurite: this class cannot be part of an argument, a result or a model; make it an aggregate (no
// constructors, private members or base classes) or specialise fulgurite::Fields for it
#include <fulgurite/jit.h>
using namespace fulgurite;
class Layer {
 public:
  explicit Layer(Tensor weight) : weight_(weight) {}
  Tensor weight() const { return weight_; }

 private:
  Tensor weight_;
};
void use(Tensor x) {
  auto f = jit([](Tensor y, Layer layer) { return y * layer.weight(); });
  f(x, Layer(x));
}
