// One fused function, called twice with each of two sets of sizes: prints its results' sums and how many fusions ran.
#include <cstdio>

#include <fulgurite/fulgurite.h>

using namespace fulgurite;

namespace {

Tensor probe(Tensor x, Tensor y) {
  const Tensor product = x * y;
  const Tensor shifted = product + 1.5;
  return tanh(shifted);
}

Tensor other_probe(Tensor x, Tensor y) {
  const Tensor sum = x + y;
  const Tensor power = exp(sum);
  return power * 0.5;
}

}  // namespace

int main() {
  manual_seed(3);
  const Tensor x = randn({6, 19}), y = randn({19});
  auto f = jit(probe, {.executors = {"fuser"}});
  auto g = jit(other_probe, {.executors = {"fuser"}});
  int fusions = 0;
  for (int call = 0; call < 2; ++call) {
    for (auto* function : {&f, &g}) {
      const Tensor result = (*function)(x, y);
      const Tensor expected = function == &f ? probe(x, y) : other_probe(x, y);
      const double difference = max(abs(result - expected)).item<double>();
      if (!(difference < 1e-5)) {
        std::printf("wrong: differs by %g\n", difference);
        return 1;
      }
      const Trace compiled = last_traces(*function).back();
      for (const BoundSymbol& bound : compiled.bound_symbols) fusions += bound.is_fusion();
    }
  }
  std::printf("right, %d fusions\n", fusions);
  return 0;
}
