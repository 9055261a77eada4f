// Random functions with branches on sizes and scalars, jitted with symbols, against eager mode (tools/fuzz branches).
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/programs/branch_program.h"

int main(int count, char** words) {
  unsigned programs = 500, seed = 1;
  for (int i = 1; i + 1 < count; i += 2) {
    if (!std::strcmp(words[i], "--count")) programs = static_cast<unsigned>(std::strtoul(words[i + 1], nullptr, 10));
    if (!std::strcmp(words[i], "--seed")) seed = static_cast<unsigned>(std::strtoul(words[i + 1], nullptr, 10));
  }
  fulgurite::test::BranchCounts counts;
  int64_t wrong = 0;
  for (unsigned i = 0; i < programs; ++i) {
    const std::string problem = fulgurite::test::check_branch_program(seed + i, counts);
    if (problem.empty()) continue;
    ++wrong;
    std::printf("%s\n", problem.c_str());
  }
  for (const std::string& why : counts.constants) std::printf("with constants: function %s\n", why.c_str());
  std::printf("%lld calls, %lld hits, %lld errors in both ways, %lld recorded with constants\n",
              static_cast<long long>(counts.calls), static_cast<long long>(counts.hits),
              static_cast<long long>(counts.errors), static_cast<long long>(counts.constants.size()));
  std::printf("%u functions, %lld wrong\n", programs, static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
