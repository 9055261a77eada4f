#include <bit>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("sin, cos and tan of an element do not depend on its neighbours, large angles among them") {
  const Tensor small = arange(4096.0) * 0.037 - 70.0, large = small.clone();
  for (int64_t i = 5; i < 4096; i += 64) large(i) = 70000.0 + static_cast<double>(i);
  const auto expect_same = [&](const std::vector<float>& a, const std::vector<float>& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (i % 64 != 5 && std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]))
        return fail("element " + std::to_string(i));
  };
  for (const auto& f : std::vector<Tensor (*)(const Tensor&)>{[](const Tensor& x) { return sin(x); },
                                                              [](const Tensor& x) { return cos(x); },
                                                              [](const Tensor& x) { return tan(x); }}) {
    expect_same(f(small).to_vector<float>(), f(large).to_vector<float>());
    const auto fused = jit([f](Tensor x) { return -f(x * 1.0); }, {.executors = {"fuser"}});
    expect_same((-f(large)).to_vector<float>(), fused(large).to_vector<float>());
  }
}
