// Results that are stored past the caches are the same to the bit, on whatever instruction set, wherever rows begin.
#include <cstring>

#include "codegen/host_compiler/compile_kernels.h"
#include "executors/fuser/fused.h"
#include "runtime/threads/store_fence.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;
using codegen::InstructionSet;

namespace {

constexpr long rows = 5, columns = 40;
constexpr size_t results = 7;

struct alignas(64) Memory {
  char bytes[results][rows * columns * 8 + 64] = {};
};

constexpr const char* text = R"(extern "C" void fusion0(const Launch& launch, long first, long last) {
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const auto* const x_row = row.of<const float>(0);
    const auto f32_row = row.result<float>(1);
    const auto bf16_row = row.result<BFloat16>(2);
    const auto f16_row = row.result<Float16>(3);
    const auto i16_row = row.result<short>(4);
    const auto i32_row = row.result<int>(5);
    const auto u8_row = row.result<unsigned char>(6);
    const auto f64_row = row.result<double>(7);
    for (Columns c(launch); c.more(); c.next()) {
      const Floats x = load(x_row, c);
      const Ints n = to_ints(x);
      store(f32_row, c, x);
      store(bf16_row, c, x);
      store(f16_row, c, x);
      store(i16_row, c, n);
      store(i32_row, c, n);
      store(u8_row, c, n);
      store(f64_row, c, to_doubles(x));
    }
  }
}
)";

void run_on(InstructionSet set, bool streams, Memory& to) {
  codegen::KernelSource source{"fusion0", text, text + std::to_string(static_cast<int>(set))};
  source.is_wide = true;
  const auto functions = codegen::compile_kernels({&source, 1}, {set});
  if (!expect_equal(functions.size(), 1)) return;
  float x[rows * columns];
  for (long i = 0; i < rows * columns; ++i) x[i] = static_cast<float>(i) * 0.37f - 20;
  constexpr long sizes[results] = {4, 2, 2, 2, 4, 1, 8};
  kernels::Operand operands[results + 1] = {{reinterpret_cast<char*>(x), {columns * 4}}};
  for (size_t k = 0; k < results; ++k) operands[k + 1] = {to.bytes[k], {columns * sizes[k]}, streams};
  const kernels::Launch launch{columns, 1, {rows}, operands, nullptr, nullptr, 0};
  functions[0].function(launch, 0, rows);
  finish_streamed_stores();
}

/// A value large enough for non-temporal stores, and one computed from a part of it, which is not.
void expect_parts_agree(const std::function<Tensor(Tensor)>& function, const Tensor& x, const std::string& what) {
  auto f = jit(function, {.executors = {"fuser"}});
  const int64_t part = x.shape()[0].hint() / 3;
  const Tensor whole = f(x);
  expect(whole.numel().hint() * size_of(whole.dtype()) >= streamed_bytes, what);
  for (int64_t at = 0; at < 3 * part; at += part) {
    const Tensor wanted = f(narrow(x, 0, at, part).contiguous()), given = narrow(whole, 0, at, part).contiguous();
    const size_t bytes = static_cast<size_t>(given.numel().hint() * size_of(given.dtype()));
    expect(std::memcmp(given.data_pointer(), wanted.data_pointer(), bytes) == 0, what);
  }
  expect_equal(fusions_in(last_traces(f).back()), 1);
}

}  // namespace

TEST("every instruction set streams what it stores") {
  const InstructionSet best = codegen::best_instruction_set();
  for (const InstructionSet set : {InstructionSet::baseline, InstructionSet::avx2, InstructionSet::avx512}) {
    if (set > best) continue;
    Memory stored, streamed;
    run_on(set, false, stored);
    run_on(set, true, streamed);
    expect(std::memcmp(&stored, &streamed, sizeof(Memory)) == 0, std::to_string(static_cast<int>(set)));
    expect_different(std::memcmp(stored.bytes[0], stored.bytes[1], 64), 0);
  }
}

TEST("large results of every dtype") {
  manual_seed(1);
  const Tensor x = randn({4200, 1025}) * 20.0;
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::i64, Dtype::i32, Dtype::i16}) {
    const auto function = [dtype](Tensor x) {
      const Tensor more = x + 1.0;
      return (more * x).to(dtype);
    };
    const Tensor input = size_of(dtype) < 4 ? cat({x, x}, 0) : x;
    expect_parts_agree(function, input, std::string(name(dtype)));
  }
}

TEST("large results that are read by a later row loop, in rows that rarely begin at cache lines") {
  manual_seed(2);
  for (const int64_t columns : {1024, 1023}) {
    const Tensor x = randn({4200, columns});
    const auto normalized = [](Tensor x) {
      const Tensor shares = softmax(x, -1);
      const Tensor squares = (shares * shares).sum(-1, true);
      return cat({(shares - squares).unsqueeze(1), shares.unsqueeze(1)}, 1);
    };
    auto f = jit(
        [](Tensor x) {
          const Tensor shares = softmax(x, -1);
          const Tensor squares = (shares * shares).sum(-1, true);
          return std::pair(shares - squares, shares);
        },
        {.executors = {"fuser"}});
    const auto [difference, shares] = f(x);
    const Tensor wanted = normalized(x);
    expect_close(narrow(difference, 0, 0, 40), wanted(Slice(0, 40), 0), 1e-6);
    expect_close(narrow(shares, 0, 4160, 40), wanted(Slice(4160, {}), 1), 1e-6);
    expect_equal(fusions_in(last_traces(f).back()), 1);
    expect_parts_agree([](Tensor x) { return softmax(x, -1) * 2.0; }, x, std::to_string(columns));
  }
}

TEST("a large tensor that is written in place") {
  manual_seed(3);
  const Tensor start = randn({4200, 1024}), g = randn({4200, 1024});
  Tensor p = start.clone();
  auto f = jit([](Tensor p, Tensor g) { p.copy_(p - g * 0.5); }, {.executors = {"fuser"}});
  f(p, g);
  expect_close(narrow(p, 0, 4000, 3), narrow(start - g * 0.5, 0, 4000, 3), 1e-6);
}
