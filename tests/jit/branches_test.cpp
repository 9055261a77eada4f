// Random functions with branches on sizes and numbers; tools/fuzz branches runs many more.
#include "support/programs/branch_program.h"
#include "support/test.h"

namespace fulgurite::test {

TEST("random functions that branch on sizes and numbers: a hit gives what eager mode gives") {
  BranchCounts counts;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::string problem = check_branch_program(seed, counts);
    expect(problem.empty(), problem);
  }
  expect(counts.hits * 6 > counts.calls,
         "only " + std::to_string(counts.hits) + " hits in " + std::to_string(counts.calls) + " calls");
  expect_equal(counts.constants, std::vector<std::string>());
}

}  // namespace fulgurite::test
