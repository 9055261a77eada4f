// PyTorch's answers on the fusing executor of examples/row_fuser.h, in the place of the built-in ones. usage:
// row_fuser_conformance FOLDER. Ends with 1 if a case fails or too few groups were fused.
#include <atomic>
#include <cstdio>
#include <exception>

#include <fulgurite/fulgurite.h>

#include "../../examples/row_fuser.h"
#include "cli/commands.h"

namespace {

constexpr int min_groups = 200;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: row_fuser_conformance FOLDER\n", stderr), 2;
  static std::atomic<int> groups{0}, runs{0};
  fulgurite::FusionExecutor executor = row_fuser::make("row_fuser");
  executor.is_profitable = {};  // most cases are one op
  executor.fuse = [fuse = executor.fuse](const fulgurite::Region& region) {
    ++groups;
    fulgurite::Fusion fusion = fuse(region);
    fusion.run_into = [run = fusion.run_into](const std::vector<fulgurite::Tensor>& inputs,
                                              const std::vector<fulgurite::Tensor>& outputs) {
      ++runs;
      run(inputs, outputs);
    };
    return fusion;
  };
  fulgurite::register_executor(executor);
  try {
    const int status = fulgurite::cli::conformance({argv[1], "--executor", "row_fuser"});
    std::printf("%d groups were fused, and ran %d times\n", groups.load(), runs.load());
    return groups >= min_groups && runs >= min_groups ? status : 1;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
