#include "fuzz/scalar_fusions.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "fuzz/fusion_program.h"
#include "support/scalar_executors.h"

namespace fulgurite::test {

namespace {

/// Some programs that are compiled together: the compiler reads the kernel headers once for all of them.
struct Batch {
  std::vector<unsigned> seeds;
  std::vector<Program> programs;
  std::vector<std::vector<Tensor>> inputs;

  bool add(unsigned seed) {
    const Program program = random_program(seed);
    std::vector<Tensor> made;
    try {
      made = program.make_inputs();
      program(made, false);
    } catch (const UserError&) {
      return false;  // an operator refuses its arguments
    }
    seeds.push_back(seed);
    programs.push_back(program);
    inputs.push_back(std::move(made));
    return true;
  }

  /// The results by program, and the number of fusions that the executor compiled.
  std::vector<std::vector<Tensor>> run(std::vector<std::string> executors, int& fusions) const {
    auto f = jit(
        [&](std::vector<std::vector<Tensor>> given) {
          std::vector<std::vector<Tensor>> out;
          for (size_t i = 0; i < programs.size(); ++i) out.push_back(programs[i](given[i], false));
          return out;
        },
        {.executors = std::move(executors)});
    std::vector<std::vector<Tensor>> out = f(inputs);
    const Trace trace = last_traces(f).back();
    for (const BoundSymbol& bound : trace.bound_symbols.read()) fusions += bound.is_fusion();
    return out;
  }
};

std::string differing(const Tensor& actual, const Tensor& expected) {
  const std::vector<double> a = numbers_of(actual), b = numbers_of(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint64_t>(a[i]) == std::bit_cast<uint64_t>(b[i]) || (std::isnan(a[i]) && std::isnan(b[i])))
      continue;
    char text[100];
    std::snprintf(text, sizeof text, "element %zu is %.17g, not %.17g", i, a[i], b[i]);
    return text;
  }
  return {};
}

}  // namespace

int check_scalar_fusions(unsigned first, unsigned count) {
  register_scalar_executors();
  constexpr size_t together = 20;
  int programs = 0, fusions = 0, failures = 0;
  for (unsigned seed = first; seed < first + count;) {
    Batch batch;
    for (; seed < first + count && batch.programs.size() < together; ++seed) batch.add(seed);
    int ignored = 0;
    const auto expected = batch.run({"gemm", "fuser"}, ignored),
               actual = batch.run({"scalar_gemm", "scalar_fuser"}, fusions);
    programs += static_cast<int>(batch.programs.size());
    for (size_t i = 0; i < batch.programs.size(); ++i)
      for (size_t k = 0; k < expected[i].size(); ++k) {
        const std::string difference = differing(actual[i][k], expected[i][k]);
        if (difference.empty()) continue;
        ++failures;
        std::printf("FAILED: program %u: result %zu in scalar form: %s\n", batch.seeds[i], k, difference.c_str());
      }
  }
  std::printf("%d programs, %d fusions, %d failures\n", programs, fusions, failures);
  return failures;
}

}  // namespace fulgurite::test
