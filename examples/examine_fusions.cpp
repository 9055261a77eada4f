// Inputs of a fusion: a session that queries the kernels a jitted function ran. Its output is examine_fusions.txt.
#include <iostream>

#include <fulgurite/fulgurite.h>

namespace fg = fulgurite;

int main() {
  const auto func = fg::jit(
      [](fg::Tensor x) {
        auto t1 = fg::prims::var(x, {0, 1}, 1);
        auto t2 = fg::prims::add(t1, t1);
        return t2;
      },
      {.argument_names = {"x"}});

  auto x = fg::randn({512, 512});

  auto out = func(x);

  std::cout << fg::last_traces(func).back().python({.source = false}) << '\n';

  std::cout << fg::examine::get_fusion_symbols(fg::last_traces(func).back()) << '\n';

  auto trace = fg::last_traces(func).back();

  std::vector<fg::BoundSymbol> fusions;
  for (const auto& symbol : trace.bound_symbols)
    if (symbol.is_fusion()) fusions.push_back(symbol);
  std::cout << fusions << '\n';

  std::cout << fusions[0].args << '\n';

  std::cout << fusions[0].args[0].tensor().shape << '\n';

  std::cout << fusions[0].args[0].tensor().dtype << '\n';

  std::cout << fg::examine::kernel_source(func, "fusion0") << '\n';

  // The trace does not have this: the input's actual strides.
  func(x.t());
  for (const auto& input : fg::examine::fusion_inputs(func, "fusion0"))
    std::cout << input.name << ": \"" << input.device << ' ' << input.dtype << input.shape << "\", strides "
              << input.strides << ", offset " << input.offset << '\n';
  return fusions.size() == 1 ? 0 : 1;
}
