// The generated GEMM against its definition: odd sizes, any strides, conversions on the way, and the same bits on any
// number of threads. With all instructions that a CPU may have for it: AMX is emulated on CPUs without it.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "codegen/gemm/gemm_kernel.h"
#include "codegen/ir/print_kernel.h"
#include "codegen/render/vector_target.h"
#include "executors/fuser/fused.h"
#include "executors/gemm/run_gemm.h"
#include "support/emulated_amx.h"
#include "support/gemm_instructions.h"
#include "support/programs/record.h"
#include "support/test.h"
#include "tensor/tensor_impl.h"

using namespace fulgurite;
using namespace fulgurite::test;
using codegen::CompiledGemm;
using codegen::GemmForm;
using codegen::Instructions;

namespace {

/// GEMMs that store their sums, and a bias with them.
struct PlainForm {
  Dtype left, right, result, number;
  std::optional<Dtype> bias;
  bool rounds = false;  // a bias and a result of more bits, to those of the product

  operator GemmForm() const {
    return {left, right, number, codegen::plain_epilogue(result, bias, rounds ? std::optional(number) : std::nullopt)};
  }
};

/// The memory layout of a matrix whose rows extend along K.
enum class Lies { along_depth, along_rows, apart };

Tensor make_matrix(int64_t rows, int64_t depth, Dtype dtype, Lies lies) {
  const auto made = [&](int64_t a, int64_t b) { return (randn({a, b}) * 0.5).to(dtype); };
  if (lies == Lies::along_depth) return made(rows, depth);
  if (lies == Lies::along_rows) return transpose(made(depth, rows), 0, 1);
  return prims::slice(prims::slice(made(2 * rows, 3 * depth), 1, 0, 3 * depth, 3), 0, 0, 2 * rows, 2);
}

fused_gemm::DepthMatrix matrix_of(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  return {impl.data(), impl.sizes[0], impl.strides[0], impl.strides[1]};
}

Tensor product_of(const PlainForm& plain, const Tensor& left, const Tensor& right, const Tensor& bias,
                  Instructions instructions, bool generates_all = true) {
  const GemmForm form = plain;
  const std::vector<CompiledGemm> kernels = codegen::compile_gemms({&form, 1}, instructions, generates_all);
  Tensor result = (zeros({left.size(0), right.size(0)}) - 9.0).to(plain.result);
  if (!expect_equal(kernels.size(), 1)) return result;
  std::vector<fused_gemm::ColumnMatrix> matrices{{result.impl()->data(), right.impl()->sizes[0]}};
  if (bias.defined()) matrices.push_back({bias.impl()->data(), 0});
  fused_gemm::run_gemm(form, kernels[0], {matrix_of(left), matrix_of(right), left.impl()->sizes[1], matrices});
  return result;
}

/// By its definition, of operands that are rounded to a dtype.
std::vector<double> expected_of(Dtype number, const Tensor& left, const Tensor& right, const Tensor& bias) {
  const auto numbers = [number](const Tensor& t) {
    return t.to(number).to(Dtype::f64).contiguous().to_vector<double>();
  };
  const std::vector<double> x = numbers(left), y = numbers(right);
  const std::vector<double> added = bias.defined() ? bias.to(Dtype::f64).to_vector<double>() : std::vector<double>();
  const auto rows = static_cast<size_t>(left.impl()->sizes[0]), columns = static_cast<size_t>(right.impl()->sizes[0]);
  const auto depth = static_cast<size_t>(left.impl()->sizes[1]);
  std::vector<double> out;
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) {
      double sum = bias.defined() ? added[j] : 0;
      for (size_t d = 0; d < depth; ++d) sum += x[i * depth + d] * y[j * depth + d];
      out.push_back(sum);
    }
  return out;
}

// Each form's kernels take a second to compile.
bool is_tested(Instructions instructions, const PlainForm& form) {
  if (!instructions.has_amx) return true;
  return form.number == Dtype::bf16 && (form.bias ? form.bias == Dtype::f32 && form.result == Dtype::f32
                                                  : form.result == Dtype::bf16 || form.right == Dtype::f32);
}

void expect_gemm(const PlainForm& form, int64_t rows, int64_t columns, int64_t depth, Lies left_lies, Lies right_lies) {
  const Tensor left = make_matrix(rows, depth, form.left, left_lies),
               right = make_matrix(columns, depth, form.right, right_lies);
  const Tensor bias = form.bias ? randn({columns}).to(*form.bias) : Tensor();
  const std::vector<double> expected = expected_of(form.number, left, right, bias);
  for (const Instructions instructions : all_instructions()) {
    if (!is_tested(instructions, form)) continue;
    const std::vector<double> actual =
        product_of(form, left, right, bias, instructions).to(Dtype::f64).to_vector<double>();
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double rounding =
          form.result == Dtype::f32 ? 0 : std::fabs(expected[i]) / (form.result == Dtype::bf16 ? 256 : 2048);
      const double error = (std::fabs(actual[i] - expected[i]) - rounding) / (1e-6 * (1 + static_cast<double>(depth)));
      worst = error <= worst ? worst : error;  // what is not a number is an error, too
    }
    if (!expect_at_most(worst, 1))
      std::printf("  of %ld x %ld x %ld, %s matrix unit: %g times what is allowed\n", rows, columns, depth,
                  instructions.has_amx ? "a" : "no", worst);
  }
}

}  // namespace

TEST("GEMMs of odd sizes, with operands of any strides") {
  const EmulatedAmx unit;
  manual_seed(1);
  const NoGrad no_grad;
  const std::vector<std::array<int64_t, 3>> sizes{{1, 1, 1},      {8, 48, 32}, {7, 130, 200}, {33, 65, 31},
                                                  {129, 97, 385}, {16, 16, 0}, {300, 50, 64}};
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const PlainForm form{dtype, dtype, dtype, dtype, {}};
    for (const auto& [rows, columns, depth] : sizes)
      for (const Lies left : {Lies::along_depth, Lies::along_rows, Lies::apart})
        for (const Lies right : {Lies::along_depth, Lies::along_rows, Lies::apart})
          expect_gemm(form, rows, columns, depth, left, right);
    expect_gemm(form, 0, 5, 9, Lies::along_depth, Lies::along_depth);
    expect_gemm(form, 5, 0, 9, Lies::along_depth, Lies::along_depth);
  }
}

TEST("operands of f32 are rounded while they are packed, a bias is added and the result has either dtype") {
  const EmulatedAmx unit;
  manual_seed(2);
  const NoGrad no_grad;
  for (const Dtype half : {Dtype::bf16, Dtype::f16})
    for (const Dtype left : {half, Dtype::f32})
      for (const Dtype right : {half, Dtype::f32})
        for (const Dtype result : {half, Dtype::f32})
          for (const std::optional<Dtype> bias :
               {std::optional<Dtype>(), std::optional(half), std::optional(Dtype::f32)})
            for (const Lies lies : {Lies::along_depth, Lies::along_rows})
              expect_gemm({left, right, result, half, bias}, 50, 83, 70, lies,
                          lies == Lies::along_rows ? Lies::along_depth : Lies::along_rows);
}

TEST("a long depth is multiplied in parts, without rounding in between") {
  const EmulatedAmx unit;
  manual_seed(3);
  const NoGrad no_grad;
  expect_gemm({Dtype::bf16, Dtype::f32, Dtype::f32, Dtype::bf16, {}}, 21, 70, 20000, Lies::along_depth,
              Lies::along_rows);
  expect_gemm({Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32, {}}, 21, 70, 20000, Lies::along_depth, Lies::along_rows);
  // More columns, and more rows, than are multiplied at a time.
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{5, 800}, {4100, 20}})
      expect_gemm({dtype, dtype, Dtype::f32, dtype, {}}, rows, columns, 1300, Lies::along_rows, Lies::along_depth);
  // Small whole numbers have exact sums, which any rounding on the way would change.
  const Tensor ones = full({5, 20001}, 1.0).to(Dtype::bf16);
  for (const Instructions instructions : all_instructions())
    expect_equal(product_of({Dtype::bf16, Dtype::bf16, Dtype::f32, Dtype::bf16, {}}, ones, ones, {}, instructions)
                     .to_vector<float>(),
                 std::vector<float>(25, 20001.f));
}

TEST("numbers that are not finite stay where they are") {
  const EmulatedAmx unit;
  const NoGrad no_grad;
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor left = tensor(std::vector<float>{infinity, 1, 2, 3, NAN, 1}).reshape({3, 2}),
               right = tensor(std::vector<float>{1, 1}).reshape({1, 2});
  for (const Instructions instructions : all_instructions()) {
    const std::vector<float> result =
        product_of({Dtype::f32, Dtype::f32, Dtype::f32, Dtype::bf16, {}}, left, right, {}, instructions)
            .to_vector<float>();
    expect_equal(result[0], infinity);
    expect_equal(result[1], 5.f);
    expect(std::isnan(result[2]));
  }
}

TEST("GEMMs have the same bits on any number of threads, and rows the same bits in any GEMM") {
  const EmulatedAmx unit;
  manual_seed(4);
  const NoGrad no_grad;
  const int before = num_threads();
  const auto expect_bits = [before](Dtype dtype, Instructions instructions) {
    const PlainForm form{dtype, Dtype::f32, Dtype::f32, dtype, {}};
    const Tensor left = make_matrix(700, 900, dtype, Lies::along_depth),
                 right = make_matrix(500, 900, Dtype::f32, Lies::along_depth);
    set_num_threads(1);
    const std::vector<float> alone = product_of(form, left, right, {}, instructions).to_vector<float>();
    const std::vector<float> few = product_of(form, narrow(left, 0, 0, 11), right, {}, instructions).to_vector<float>();
    for (const int threads : {2, 3}) {
      set_num_threads(threads);
      expect(product_of(form, left, right, {}, instructions).to_vector<float>() == alone,
             "the bits depend on the number of threads");
    }
    set_num_threads(before);
    expect(std::equal(few.begin(), few.end(), alone.begin()), "a row's bits depend on the rows beside it");
  };
  for (const Instructions instructions : all_instructions()) expect_bits(Dtype::bf16, instructions);
  if (codegen::has_gemm_instructions()) expect_bits(Dtype::f32, codegen::gemm_instructions());
}

namespace {

/// The epilogue of a layer followed by gelu, or, with a cotangent that is a GEMM's result, of gelu's gradient.
codegen::LoweredEpilogue gelu_epilogue(Dtype dtype, const std::string& approximate, bool is_gradient) {
  const auto layer = [&](const std::vector<Tensor>& t) {
    const Tensor sums = nn::linear(t[0], t[1], t[2]);
    return std::vector<Tensor>{sums, nn::gelu(sums, approximate)};
  };
  const auto gradient = [&](const std::vector<Tensor>& t) {
    const Tensor cotangent = matmul(t[0], t[1]);
    return std::vector<Tensor>{nn::gelu(t[2], approximate), prims::gelu_backward(cotangent, t[2], approximate)};
  };
  const Trace trace = is_gradient ? record({{{70, 200}, dtype}, {{200, 83}, dtype}, {{70, 83}, dtype}}, gradient)
                                  : record({{{70, 200}, dtype}, {{83, 200}, dtype}, {{83}, dtype}}, layer);
  codegen::EpilogueOps lines;
  if (!is_gradient) lines.bias = Dtype::f32;
  lines.stores_gemm = !is_gradient;
  for (const BoundSymbol& bound : trace.bound_symbols) {
    if (bound.symbol->name() == "linear" || bound.symbol->name() == "matmul") lines.gemm = &bound;
    if (!bound.symbol->name().starts_with("gelu")) continue;
    lines.loop_nest.ops.push_back(&bound);
    lines.loop_nest.results.push_back(bound.outputs.read()[0]);
  }
  codegen::OpExpressions expressions;
  codegen::LoweredEpilogue lowered = codegen::lower_epilogue(lines, expressions);
  expect_equal(lowered.reason, "");
  return lowered;
}

}  // namespace

TEST("an epilogue is typed until it is rendered") {
  const codegen::GemmEpilogue epilogue = gelu_epilogue(Dtype::bf16, "tanh", false).epilogue;
  expect_text(codegen::epilogue_text(epilogue), R"(
operand 0: f32, a row
%0 = round_bf16(load operand 0) : f32  # bias
%1 = round_bf16(add(sums, %0)) : f32  # linear
%2 = gelu_tanh(%1) : f32  # gelu
store %1 to result 0: bf16
store %2 to result 1: bf16
)");
  std::string statements;
  for (const std::string& line : codegen::vector_epilogue(epilogue)) statements += line + "\n";
  expect_text(statements, R"(
const Floats bias = round_to_bfloat16(load(at.of<const float>(launch, 2), at));
const Floats linear = round_to_bfloat16(sums + bias);
const Floats gelu_ = gelu_tanh(linear);
store(at.of<BFloat16>(launch, 0), at, linear);
store(at.of<BFloat16>(launch, 1), at, gelu_);
)");
  expect_text(codegen::epilogue_text(gelu_epilogue(Dtype::f32, "none", true).epilogue), R"(
operand 0: f32
%0 = load operand 0 : f32  # other
%1 = gelu(%0) : f32  # gelu
%2 = gelu_backward(sums, %0) : f32  # gelu_backward
store %1 to result 0: f32
store %2 to result 1: f32
)");
}

namespace {

/// The results of such a GEMM; the second one is gelu of the first's value, or its gradient.
std::vector<Tensor> with_epilogue(const GemmForm& form, const Tensor& left, const Tensor& right, const Tensor& beside,
                                  Instructions instructions, bool generates_all) {
  const std::vector<CompiledGemm> kernels = codegen::compile_gemms({&form, 1}, instructions, generates_all);
  std::vector<Tensor> results;
  std::vector<fused_gemm::ColumnMatrix> matrices;
  const int64_t columns = right.impl()->sizes[0];
  for (const Dtype dtype : form.epilogue.results) {
    results.push_back((zeros({left.size(0), right.size(0)}) - 9.0).to(dtype));
    matrices.push_back({results.back().impl()->data(), columns});
  }
  matrices.push_back({beside.impl()->data(), form.epilogue.operands[0].is_row ? 0 : columns});
  if (expect_equal(kernels.size(), 1))
    fused_gemm::run_gemm(form, kernels[0], {matrix_of(left), matrix_of(right), left.impl()->sizes[1], matrices});
  return results;
}

}  // namespace

TEST("epilogues are computed of whole sums by all instructions, and the library has those of gelu") {
  const EmulatedAmx unit;
  manual_seed(6);
  const NoGrad no_grad;
  std::vector<Instructions> all = all_instructions();
  if (!all.empty()) all.push_back({codegen::InstructionSet::avx2, false});
  for (const Instructions instructions : all)
    for (const Dtype dtype : {Dtype::bf16, Dtype::f32})
      for (const std::string approximate : {"none", "tanh"})
        for (const bool is_gradient : {false, true}) {
          if (dtype == Dtype::f32 && instructions.set != codegen::InstructionSet::avx2) continue;
          const GemmForm form{dtype, Dtype::f32, dtype, gelu_epilogue(dtype, approximate, is_gradient).epilogue};
          const Tensor left = make_matrix(70, 200, dtype, Lies::along_depth),
                       right = make_matrix(83, 200, Dtype::f32, Lies::along_rows) * 0.2;
          const Tensor beside = is_gradient ? randn({70, 83}).to(dtype) : randn({83});
          const auto wide = [](const Tensor& t) { return t.to(Dtype::f64); };
          const Tensor sums = matmul(wide(left), transpose(wide(right.to(dtype)), 0, 1));
          const Tensor before = is_gradient ? wide(beside) : sums + wide(beside);
          const Tensor first = is_gradient ? nn::gelu(before, approximate) : before;
          const Tensor second =
              is_gradient ? prims::gelu_backward(sums, before, approximate) : nn::gelu(before, approximate);
          const std::vector<Tensor> taken = with_epilogue(form, left, right, beside, instructions, false);
          const double tolerance = dtype == Dtype::f32 ? 1e-5 : 0.03;
          expect_close(taken[0], first, tolerance);
          expect_close(taken[1], second, tolerance);
          const std::vector<Tensor> made = with_epilogue(form, left, right, beside, instructions, true);
          for (size_t i = 0; i < 2; ++i)
            expect(wide(taken[i]).to_vector<double>() == wide(made[i]).to_vector<double>(), "the bits differ");
          if (!codegen::has_prebuilt_gemms()) continue;
          if (dtype == Dtype::f32 && instructions.set != codegen::InstructionSet::avx2) continue;
          expect(codegen::compile_gemms({&form, 1}, instructions)[0].multiply !=
                     codegen::compile_gemms({&form, 1}, instructions, true)[0].multiply,
                 "the library lacks a GEMM");
        }
}

TEST("prebuilt GEMMs have the bits of generated ones") {
  const EmulatedAmx unit;
  manual_seed(5);
  const NoGrad no_grad;
  constexpr Dtype f32 = Dtype::f32, bf16 = Dtype::bf16;
  const std::vector<PlainForm> forms{{f32, f32, f32, f32, {}},      {f32, f32, f32, f32, f32},
                                     {bf16, bf16, bf16, bf16, {}},  {bf16, f32, f32, bf16, {}, true},
                                     {bf16, f32, bf16, bf16, bf16}, {bf16, f32, bf16, bf16, f32, true},
                                     {f32, bf16, bf16, bf16, {}}};
  for (const PlainForm& form : forms) {
    const Tensor left = make_matrix(70, 200, form.left, Lies::along_depth),
                 right = make_matrix(83, 200, form.right, Lies::along_rows);
    const Tensor bias = form.bias ? randn({83}).to(*form.bias) : Tensor();
    for (const Instructions instructions : all_instructions()) {
      const auto numbers = [&](bool generates_all) {
        return product_of(form, left, right, bias, instructions, generates_all).to(Dtype::f64).to_vector<double>();
      };
      expect(numbers(false) == numbers(true), "the bits differ");
      if (!codegen::has_prebuilt_gemms()) continue;
      const GemmForm whole = form;
      const CompiledGemm taken = codegen::compile_gemms({&whole, 1}, instructions)[0],
                         made = codegen::compile_gemms({&whole, 1}, instructions, true)[0];
      expect(taken.pack != made.pack && taken.multiply != made.multiply, "the library lacks a GEMM");
    }
  }
}
