// Random programs whose results share memory: eager and compiled in several ways. tools/fuzz results compares them
// with PyTorch.
#include <cmath>
#include <cstdio>
#include <functional>

#include <fulgurite/fulgurite.h>

#include "support/programs/result_program.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// The values at the end and the gradients of the leaves.
std::vector<std::vector<double>> outcome(const ResultProgram& program,
                                         const std::function<std::vector<Tensor>(std::vector<Tensor>)>& call) {
  const std::vector<Tensor> leaves = program.leaves(true), arguments = program.arguments(leaves);
  const std::vector<Tensor> values = program.go_on(arguments, call(arguments));
  ResultProgram::loss(values).backward();
  std::vector<std::vector<double>> out;
  const auto add = [&](const Tensor& x) {
    out.push_back(x.defined() ? x.detach().contiguous().to_vector<double>() : std::vector<double>());
  };
  for (const Tensor& value : values) add(value);
  for (const Tensor& leaf : leaves) add(leaf.grad());
  return out;
}

bool are_near(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) {  // no gradient is a gradient of zeros
    for (const double number : a.empty() ? b : a)
      if (number != 0) return false;
    return true;
  }
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= 1e-9 * std::max(1.0, std::fabs(b[i])))) return false;
  return a.size() == b.size();
}

}  // namespace

TEST("random programs whose results share memory do the same eagerly and compiled") {
  constexpr unsigned count = 300;
  unsigned differ = 0, refused = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    const ResultProgram program = draw_result_program(seed);
    std::vector<std::vector<double>> eager;
    try {
      eager = outcome(program, [&](const std::vector<Tensor>& a) { return program.run(a); });
    } catch (const UserError&) {
      ++refused;  // what a gradient needs was overwritten
      continue;
    }
    const auto compare = [&](const char* way, const JitOptions& options) {
      const auto compiled = jit([&program](std::vector<Tensor> a) { return program.run(a); }, options);
      for (int call = 0; call < 2; ++call) {
        try {
          const std::vector<std::vector<double>> found = outcome(program, compiled);
          if (std::ranges::equal(found, eager, are_near)) continue;
          if (++differ < 5) std::printf("program %u, %s, differs: %s\n", seed, way, program.json().c_str());
        } catch (const UserError& error) {
          if (++differ < 5) std::printf("program %u, %s: %s\n", seed, way, error.what());
        }
      }
    };
    compare("default", {});
    compare("executor eager", {.executors = {"eager"}});
    compare("symbolic", {.cache = Cache::symbolic_values});
    if (seed % 30 == 0) compare("fuser", {.executors = {"fuser", "eager"}});
  }
  expect_equal(differ, 0u);
  expect(refused < count / 3, "refused: " + std::to_string(refused));
}
