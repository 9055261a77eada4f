// expect: fulgurite: an argument of a traced function must have a copy constructor
#include <memory>

#include <fulgurite/jit.h>
using namespace fulgurite;
struct Unique {
  Tensor weight;
  std::unique_ptr<int> count;
};
void use() {
  auto f = jit([](const Unique& u) { return u.weight; });
  f(Unique{});
}
