// The scalar form of kernels: its text, and its results, which have the bits of the vectors'.
#include <bit>
#include <cmath>

#include "codegen/host_compiler/compile_kernels.h"
#include "codegen/kernel_of_fusion.h"
#include "codegen/render/scalar_target.h"
#include "codegen/render/vector_target.h"
#include "support/scalar_executors.h"
#include "support/text/text.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

template <class F>
std::string scalar_text_of(const F& f, int number = 0) {
  const fuser::FusionKernel& fusion = fusion_of(f, number);
  return codegen::scalar_kernel(fusion.kernel(), fusion.schedule(), "kernel", false);
}

std::string difference_of(const Tensor& actual, const Tensor& expected) {
  const auto a = actual.to(Dtype::f64).contiguous().to_vector<double>(),
             b = expected.to(Dtype::f64).contiguous().to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<uint64_t>(a[i]) != std::bit_cast<uint64_t>(b[i]) && !(std::isnan(a[i]) && std::isnan(b[i])))
      return text::cat("element ", i, " is ", a[i], ", not ", b[i]);
  return {};
}

/// All results of the function have the same bits with kernels of both forms.
template <class F>
void expect_same_bits(F function, const std::vector<Tensor>& inputs, SourceLocation at = SourceLocation::here()) {
  register_scalar_executors();
  auto vectors = jit(function, {.executors = {"fuser"}}), scalars = jit(function, {.executors = {"scalar_fuser"}});
  const std::vector<Tensor> expected = vectors(inputs), actual = scalars(inputs);
  int fusions = 0;
  for (const BoundSymbol& bound : last_traces(scalars).back().bound_symbols.read())
    fusions += bound.is_fusion() && bound.implementation->executor == "scalar_fuser";
  expect(fusions > 0, at);
  for (size_t i = 0; i < expected.size(); ++i) expect_equal(difference_of(actual[i], expected[i]), std::string(), at);
}

/// The results of a fusion's kernel in one form, compiled for the instruction set.
std::vector<Tensor> run_form(const fuser::FusionKernel& fusion, bool is_scalar, codegen::InstructionSet set,
                             const std::vector<Tensor>& inputs, const std::vector<Tensor>& like) {
  const auto print = is_scalar ? codegen::scalar_kernel : codegen::vector_kernel;
  const codegen::HeaderParts parts = codegen::header_parts(fusion.kernel());
  codegen::KernelSource source;
  source.name = "kernel";
  source.text = source.plain_text = print(fusion.kernel(), fusion.schedule(), "kernel", true);
  source.is_wide = parts.is_wide;
  source.has_angles = parts.has_angles;
  source.is_scalar = is_scalar;
  const auto functions = codegen::compile_kernels({&source, 1}, {set});
  if (!expect_equal(functions.size(), 1)) return {};
  std::vector<Argument> arguments;
  for (const Tensor& input : inputs) arguments.emplace_back(input);
  std::vector<Tensor> results;
  for (const Tensor& one : like) results.push_back(zeros_like(one));
  const fuser::FusionKernel kernel(fusion.kernel(), fusion.schedule(), source.text, functions[0]);
  kernel.run({arguments.data(), arguments.size()}, results);
  return results;
}

using Values = std::vector<Tensor>;

constexpr int64_t row_sizes[] = {1, 7, 16, 250, 256, 300, 1030};

/// Ordinary numbers with some infinities, NaNs, zeros and very small and large ones.
Tensor numbers(std::vector<int64_t> sizes, Dtype dtype = Dtype::f32) {
  Tensor x = randn(sizes, Dtype::f64) * 3.0;
  x = where(x > 7.0, INFINITY, x);
  x = where(x < -7.5, NAN, x);
  x = where(abs(x) < 0.05, x * 1e-300, x);
  return x.to(dtype);
}

}  // namespace

TEST("a kernel in scalar form is one loop for each row loop") {
  auto f = jit([](Tensor x, Tensor y) { return softmax(x * 0.5, -1) + y; }, {.executors = {"fuser"}});
  f(randn({3, 7}), randn({7}));
  expect_text(scalar_text_of(f), R"(
extern "C" void kernel(const Launch& launch, long first, long last) {
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const float* const t_0_row = row.of<const float>(0);
    float* const t3_kept = row.kept<float>(0);
    const float* const t_1_row = row.of<const float>(1);
    float* const t6_result = row.of<float>(2);
    RowMax<float> t1_columns;
    for (long c = 0; c < launch.columns; ++c) {
      const float t_0 = load_element(t_0_row + c);
      const float t0 = t_0 * 0.5f;
      t1_columns.add(c, t0);
    }
    const float t1 = t1_columns.total();
    Sum<float> t4_columns;
    for (long c = 0; c < launch.columns; ++c) {
      const float t_0 = load_element(t_0_row + c);
      const float t0 = t_0 * 0.5f;
      const float t2 = t0 - t1;
      const float t3 = exp(t2);
      t4_columns.add(c, t3);
      t3_kept[c] = t3;
    }
    const float t4 = t4_columns.total();
    for (long c = 0; c < launch.columns; ++c) {
      const float t_1 = load_element(t_1_row + c);
      const float t3 = t3_kept[c];
      const float t5 = t3 / t4;
      const float t6 = t5 + t_1;
      store_element(t6_result + c, t6);
    }
  }
}
)");
}

TEST("integers wrap around in scalar form, and masks are conditions") {
  auto f = jit([](Tensor n, Tensor m) { return where(logical_and(n > 2, m != 0), n * m - 1, -n); },
               {.executors = {"fuser"}});
  f(ones({4}, Dtype::i32), ones({4}, Dtype::i32));
  expect_text(scalar_text_of(f), R"(
extern "C" void kernel(const Launch& launch, long first, long last) {
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const int* const t_0_row = row.of<const int>(0);
    const int* const t_1_row = row.of<const int>(1);
    int* const t6_result = row.of<int>(2);
    for (long c = 0; c < launch.columns; ++c) {
      const int t_0 = load_element(t_0_row + c);
      const int t_1 = load_element(t_1_row + c);
      const bool t0 = t_0 > 2;
      const bool t1 = t_1 != 0;
      const bool t2 = (to_int(t0) != 0) && (to_int(t1) != 0);
      const int t3 = multiply(t_0, t_1);
      const int t4 = subtract(t3, 1);
      const int t5 = negate(t_0);
      const int t6 = select(t2, t4, t5);
      store_element(t6_result + c, t6);
    }
  }
}
)");
}

TEST("column sums in scalar form join rows in the same order") {
  auto f = jit([](Tensor x) { return sum(x.to(Dtype::f32) * 2.0, {0}); }, {.executors = {"fuser"}});
  f(randn({3, 7}).to(Dtype::bf16));
  expect_text(scalar_text_of(f), R"(
extern "C" void kernel(const Launch& launch, long first, long last) {
  ColumnSums<float> t2_columns(launch, 1);
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const BFloat16* const t_0_row = row.of<const BFloat16>(0);
    for (long c = 0; c < launch.columns; ++c) {
      const float t_0 = load_element(t_0_row + c);
      const float t0 = t_0;
      const float t1 = t0 * 2.0f;
      t2_columns.add(c, t1);
    }
    t2_columns.end_row();
  }
  t2_columns.finish();
}
)");
}

TEST("pointwise kernels of every dtype have the same bits in both forms") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::f16})
    for (const int64_t columns : row_sizes)
      expect_same_bits(
          [](Values t) {
            const Tensor a = tanh(t[0]) * t[1] + exp(t[0] * 0.25), b = nn::gelu(t[1]) / (abs(a) + 1.0);
            return Values{a, maximum(a, b), where(t[0] > t[1], floor(b), nn::silu(a)), sin(b) - log1p(abs(a))};
          },
          {numbers({3, columns}, dtype), numbers({3, columns}, dtype)});
}

// g++ computes -(a * b + c) as -(a * b) - c, whose zero has another sign.
TEST("a negated multiply-add has the same zero in both forms") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const Tensor x = full({64, 64}, 2.0, {.dtype = dtype}), y = full({64, 64}, 3.0, {.dtype = dtype});
    expect_same_bits([](Values t) { return Values{-addcmul(t[2], t[0], t[1], 0.5)}; }, {x, y, x * y * -0.5});
  }
}

TEST("integer kernels have the same bits in both forms") {
  for (const Dtype dtype : {Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8})
    expect_same_bits(
        [](Values t) {
          const Tensor product = t[0] * t[1] * 1234567, sum = product + t[1];
          return Values{sum,       abs(product),       maximum(sum, t[0]),          bitwise_xor(sum, bitwise_not(t[1])),
                        sign(sum), clamp(sum, 0, 100), product.to(Dtype::f32) * 0.5};
        },
        {(randn({5, 37}) * 1000.0).to(Dtype::i64).to(dtype), (randn({5, 37}) * 1e9).to(Dtype::i64).to(dtype)});
}

TEST("reductions add in the same order in both forms") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16})
    for (const int64_t columns : row_sizes)
      expect_same_bits(
          [](Values t) {
            const Tensor x = t[0] * 1.5;
            const Tensor wide = x - mean(x, {-1}, true);
            return Values{softmax(x, -1),      wide,
                          var(x, {-1}),        amax(x * x, {-1}),
                          amin(x + 1.0, {-1}), sum(exp(t[1]), {-1}, false)};
          },
          {randn({6, columns}).to(dtype), randn({6, columns}).to(dtype)});
}

TEST("extrema of NaNs and zeros of both signs are the same in both forms") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    expect_same_bits(
        [](Values t) {
          return Values{amax(t[0] * 1.0, {-1}), amin(t[0] * 1.0, {-1})};
        },
        {(where(randn({64, 40}) > 0, 0.0, -0.0)).to(dtype)});
  expect_same_bits(
      [](Values t) {
        return Values{amax(t[0] * 1.0, {-1}), amin(t[0] * 1.0, {-1})};
      },
      {numbers({64, 40})});
}

TEST("column sums are the same in both forms") {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16, Dtype::i32})
    for (const int64_t rows : {1, 8, 9, 17, 100, 2000})
      expect_same_bits(
          [](Values t) {
            return Values{sum(t[0] * 3, {0}), t[0] * 3 + 1};
          },
          {(randn({rows, 20}) * 100.0).to(dtype)});
}

TEST("both forms have the same bits on every instruction set") {
  const auto function = [](Tensor x) {
    const Tensor y = atan(x * 3.0) + fmod(x, 0.7) * expm1(x.to(Dtype::f64)).to(Dtype::f32);
    return std::vector<Tensor>{y, softmax(y.to(Dtype::f16), -1), sum(y * tan(x), {-1}), add(x, y, 0.3)};
  };
  auto f = jit(function, {.executors = {"fuser"}});
  const Tensor x = randn({9, 300});
  const std::vector<Tensor> expected = f(x);
  const fuser::FusionKernel& fusion = fusion_of(f);
  expect_equal(fusion.kernel().inputs.size(), size_t{1});
  expect_equal(fusion.kernel().outputs.size(), expected.size());
  for (int set = 0; set <= static_cast<int>(codegen::best_instruction_set()); ++set) {
    const auto instructions = static_cast<codegen::InstructionSet>(set);
    const std::vector<Tensor> vectors = run_form(fusion, false, instructions, {x}, expected),
                              scalars = run_form(fusion, true, instructions, {x}, expected);
    for (size_t i = 0; i < vectors.size(); ++i) expect_equal(difference_of(scalars[i], vectors[i]), std::string());
  }
}

// g++ computes erf(1.25) itself if it sees the constant, and rounds it correctly; glibc's differs in the last bit.
TEST("functions of f64 are the C library's for constants too") {
  expect_same_bits(
      [](Values t) {
        return Values{erf(clamp(t[0] * 1.5, -0.5, 1.25)), exp(clamp(t[0], 0.7, 9.0)) + 1.0};
      },
      {randn({4, 50}, Dtype::f64)});
}

TEST("losses over classes, which gather and scatter, are the same in both forms") {
  const auto loss = [](Tensor x, Tensor target) { return nn::cross_entropy(x * 2.0, target); };
  const Tensor target = tensor({1, 0, 6, 3, 9, 9});
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16})
    expect_same_bits(
        [&](Values t) {
          const auto [value, gradient] = value_and_grad<0>(loss)(t[0], t[1]);
          return Values{value, gradient};
        },
        {randn({6, 10}).to(dtype), target});
}
