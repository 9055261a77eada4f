// Libraries of compiled kernels: open while a kernel of them is owned.
#include "codegen/host_compiler/compile_kernels.h"
#include "support/open_libraries.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// A kernel that stores a number into the first operand.
codegen::KernelSource storing(const std::string& name, int number) {
  const auto text = [&](const std::string& function) {
    return "extern \"C\" void " + function + "(const Launch& launch, long, long) {\n  *reinterpret_cast<int*>(" +
           "launch.operands[0].data) = " + std::to_string(number) + ";\n}\n";
  };
  return {name, text(name), text("kernel")};
}

int stored_by(const codegen::CompiledKernel& kernel) {
  int stored = 0;
  const kernels::Operand operand{reinterpret_cast<char*>(&stored), {4}};
  const kernels::Launch launch{1, 1, {1}, &operand, nullptr, nullptr, 0};
  kernel.function(launch, 0, 1);
  return stored;
}

}  // namespace

TEST("a library is closed with its last kernel, and opened again from its file") {
  const size_t before = open_libraries();
  const codegen::KernelSource source = storing("owned0", 41);
  std::vector<codegen::CompiledKernel> first = codegen::compile_kernels({&source, 1});
  if (!expect_equal(first.size(), 1)) return;
  std::vector<codegen::CompiledKernel> second = codegen::compile_kernels({&source, 1});
  expect(first[0].function == second[0].function, "an open kernel is shared");
  expect_equal(open_libraries(), before + 1);
  first.clear();
  expect_equal(open_libraries(), before + 1);
  expect_equal(stored_by(second.at(0)), 41);
  second.clear();
  expect_equal(open_libraries(), before);
  // The same kernel under another name comes from the same library.
  const codegen::KernelSource renamed = storing("owned7", 41);
  const std::vector<codegen::CompiledKernel> third = codegen::compile_kernels({&renamed, 1});
  expect_equal(stored_by(third.at(0)), 41);
  expect_equal(open_libraries(), before + 1);
}

TEST("kernels of one library stay until all of them are dropped") {
  const size_t before = open_libraries();
  std::vector<codegen::KernelSource> sources;
  for (int i = 0; i < 24; ++i) sources.push_back(storing("owned" + std::to_string(i), 100 + i));
  std::vector<codegen::CompiledKernel> all = codegen::compile_kernels(sources);
  if (!expect_equal(all.size(), sources.size())) return;
  expect_less(open_libraries() - before, sources.size());
  const codegen::CompiledKernel last = all.back();
  all.clear();
  expect_equal(open_libraries(), before + 1);
  expect_equal(stored_by(last), 123);
}
