// expect: fulgurite: this callable holds tensors beside a member that cannot be taken apart; specialise
// fulgurite::Fields for it, or wrap it in a lambda
#include <functional>

#include <fulgurite/jit.h>
using namespace fulgurite;
struct Model {
  Tensor weight;
  std::function<Tensor(Tensor)> activation;
  Tensor operator()(Tensor x) const { return activation(x * weight); }
};
void use(Tensor x, Model model) {
  auto f = jit(std::ref(model));
  f(x);
}
