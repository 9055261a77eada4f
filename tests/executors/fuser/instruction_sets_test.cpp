// One text for every instruction set, and for both compilers' idea of C++.
#include <cmath>

#include <fulgurite/fulgurite.h>

#include "codegen/host_compiler/compile_kernels.h"
#include "executors/fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;
using codegen::InstructionSet;

namespace {

constexpr long rows = 19, columns = 37, sums_stride = columns * 8;

/// The result of an f32 kernel on an instruction set: rows, one scalar for each row and one for each column.
std::vector<float> run_on(InstructionSet set, const std::string& text, const std::vector<float>& x) {
  codegen::KernelSource source{"fusion0", text, text + std::to_string(static_cast<int>(set))};
  const auto functions = codegen::compile_kernels({&source, 1}, {set});
  if (!expect_equal(functions.size(), 1)) return {};
  std::vector<float> results(rows * columns + rows), sums(sums_stride);
  const auto bytes = [](const float* data) { return const_cast<char*>(reinterpret_cast<const char*>(data)); };
  const kernels::Operand operands[] = {{bytes(x.data()), {columns * 4}},
                                       {bytes(results.data()), {columns * 4}},
                                       {bytes(results.data() + rows * columns), {4}},
                                       {bytes(sums.data()), {}}};
  const kernels::Launch launch{columns, 1, {rows}, operands, nullptr, nullptr, sums_stride};
  functions[0].function(launch, 0, rows);
  results.insert(results.end(), sums.begin(), sums.begin() + columns);
  return results;
}

}  // namespace

TEST("one text gives the same numbers on every instruction set") {
  const std::string text = R"(extern "C" void fusion0(const Launch& launch, long first, long last) {
  ColumnSums<float> s_columns(launch, 3);
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const auto* const x_row = row.of<const float>(0);
    auto* const y_row = row.of<float>(1);
    auto* const t_row = row.of<float>(2);
    Sum<Floats> t_lanes;
    for (Columns c(launch); c.more(); c.next()) {
      const Floats x = load(x_row, c);
      const Floats y = round_to_bfloat16(exp(x)) + select(x > 0, Floats(1.f), sin(x));
      t_lanes.add(c, y);
      s_columns.add(c, y);
      store(y_row, c, y);
    }
    store_one(t_row, t_lanes.total());
    s_columns.end_row();
  }
  s_columns.finish();
}
)";
  std::vector<float> x(rows * columns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 3;
  const std::vector<float> plain = run_on(InstructionSet::baseline, text, x);
  for (long i = 0; i < rows; ++i) {
    double total = 0;
    for (long c = 0; c < columns; ++c) total += plain[i * columns + c];
    expect_near(plain[rows * columns + i], total, 1e-6);
  }
  for (long c = 0; c < columns; ++c) {
    double total = 0;
    for (long i = 0; i < rows; ++i) total += plain[i * columns + c];
    expect_near(plain[rows * columns + rows + c], total, 1e-5);
  }
  const InstructionSet best = codegen::best_instruction_set();
  for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512})
    if (set <= best) expect_near(run_on(set, text, x), plain, 1e-5);
}
