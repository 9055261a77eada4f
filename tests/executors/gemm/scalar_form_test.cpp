// The scalar form of GEMMs: its text, and its results, which have the bits of every unit that multiplies.
#include <algorithm>
#include <array>
#include <bit>

#include <fulgurite/fulgurite.h>

#include "codegen/gemm/gemm_source.h"
#include "codegen/gemm/prebuilt_forms.h"
#include "executors/gemm/run_gemm.h"
#include "support/emulated_amx.h"
#include "support/gemm_instructions.h"
#include "support/scalar_executors.h"
#include "support/test.h"
#include "tensor/tensor_impl.h"

using namespace fulgurite;
using namespace fulgurite::test;
using codegen::CompiledGemm;
using codegen::GemmEpilogue;
using codegen::GemmForm;
using codegen::GemmUnit;
using codegen::Instructions;
using codegen::KernelSource;
using codegen::Lanes;

namespace {

/// Stores twice the sums where a mask holds, and another operand elsewhere.
GemmForm masked_form(Dtype dtype) {
  GemmEpilogue epilogue;
  epilogue.results = {dtype};
  epilogue.operands = {{Dtype::boolean, false}, {dtype, false}};
  epilogue.name = "mul_where";
  const codegen::ScalarExpr mask = codegen::operand(0, Lanes::mask), sums = codegen::operand(1, Lanes::floats),
                            other = codegen::operand(2, Lanes::floats);
  epilogue.values = {{.name = "mask", .lanes = Lanes::mask, .operand = 0, .expression = mask},
                     {.name = "row", .operand = 1, .expression = codegen::operand(0, Lanes::floats)},
                     {.name = "where", .expression = select(mask, sums + sums, other), .values = {0, -1, 1}}};
  epilogue.stores = {{codegen::operand(0, Lanes::floats), {2}}};
  return {dtype, dtype, dtype, epilogue};
}

std::vector<GemmForm> all_forms() {
  std::vector<GemmForm> forms = codegen::PrebuiltForms().multiplying;
  const size_t count = forms.size();
  for (size_t i = 0; i < count; ++i) {
    if (forms[i].number == Dtype::f32) continue;
    forms.push_back(forms[i]);
    forms.back().right = Dtype::f32;  // rounded while it is packed
  }
  forms.push_back({Dtype::f16, Dtype::f32, Dtype::f16, codegen::plain_epilogue(Dtype::f16, Dtype::f16)});
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) forms.push_back(masked_form(dtype));
  return forms;
}

KernelSource scalar_kernel_source(const GemmForm& form, GemmUnit unit, size_t number) {
  const codegen::GemmSource function = codegen::scalar_source(form, unit, "gemm_" + std::to_string(number));
  KernelSource source;
  source.name = function.name;
  source.text = source.plain_text = function.text("extern \"C\"");
  source.is_scalar = true;
  return source;
}

/// Operands of a form, and its results by either kind of kernel.
struct Call {
  Call(const GemmForm& given, int64_t rows, int64_t columns, int64_t depth) : form(given) {
    left = randn({rows, depth}).to(form.left);
    right = transpose(randn({depth, columns}).to(form.right), 0, 1);
    for (const GemmEpilogue::Operand& operand : form.epilogue.operands) {
      const Tensor numbers = randn({operand.is_row ? 1 : rows, columns});
      operands.push_back(operand.dtype == Dtype::boolean ? gt(numbers, 0.0) : numbers.to(operand.dtype));
    }
  }
  int64_t columns() const { return right.impl()->sizes[0]; }
  std::vector<Tensor> make_results() const {
    std::vector<Tensor> out;
    for (const Dtype dtype : form.epilogue.results) out.push_back(full({left.size(0), right.size(0)}, -9.0).to(dtype));
    return out;
  }

  /// The results of `run`, which computes the call.
  template <class Run>
  std::vector<Tensor> results_of(const Run& run) const {
    std::vector<Tensor> results = make_results();
    std::vector<fused_gemm::ColumnMatrix> matrices;
    for (const Tensor& result : results) matrices.push_back({result.impl()->data(), columns()});
    for (size_t k = 0; k < operands.size(); ++k)
      matrices.push_back({operands[k].impl()->data(), form.epilogue.operands[k].is_row ? 0 : columns()});
    const auto matrix = [](const Tensor& t) {
      const TensorImpl& impl = *t.impl();
      return fused_gemm::DepthMatrix{impl.data(), impl.sizes[0], impl.strides[0], impl.strides[1]};
    };
    run(fused_gemm::GemmArguments{matrix(left), matrix(right), left.impl()->sizes[1], matrices});
    return results;
  }

  const GemmForm& form;
  Tensor left, right;
  std::vector<Tensor> operands;
};

std::vector<uint64_t> bits_of(const Tensor& t) {
  std::vector<uint64_t> out;
  for (const double x : t.to(Dtype::f64).to_vector<double>()) out.push_back(std::bit_cast<uint64_t>(x));
  return out;
}

}  // namespace

TEST("a GEMM in scalar form is two loops around its sum and its epilogue") {
  const GemmForm form{Dtype::bf16, Dtype::f32, Dtype::bf16,
                      codegen::plain_epilogue(Dtype::bf16, Dtype::f32, Dtype::bf16)};
  expect_text(codegen::scalar_source(form, GemmUnit::pairs, "gemm").text("static"), R"(
static void gemm(const GemmLaunch& launch, long first, long last) {
  for (long row = first; row < last; ++row)
    for (long column = 0; column < launch.right.rows; ++column) {
      const float sum = sum_of_pairs<BFloat16, float>(launch, row, column);
      const float bias = round_to_bfloat16(load_element(matrix_row<const float>(launch, 1, row) + column));
      store_element(matrix_row<BFloat16>(launch, 0, row) + column, without_subnormals(sum + bias));
    }
}
)");
  expect_text(codegen::gemm_ir_text(form, GemmUnit::pairs), R"(
left: bf16
right: f32, rounded to bf16
sums: pairs along K, the second product of each first
operand 0: f32, a row
%0 = round_bf16(load operand 0) : f32  # bias
store add(sums, %0) to result 0: bf16
)");
  expect_text(codegen::gemm_ir_text(masked_form(Dtype::f16), GemmUnit::elements), R"(
left: f16
right: f16
sums: product after product along K
operand 0: bool
operand 1: f16
%0 = load operand 0 : mask  # mask
%1 = load operand 1 : f32  # row
%2 = select(%0, add(sums, sums), %1) : f32  # where
store %2 to result 0: f16
)");
}

TEST("a GEMM in scalar form has the bits of each unit's") {
  if (!codegen::has_gemm_instructions()) return;
  const EmulatedAmx emulated;
  manual_seed(7);
  const NoGrad no_grad;
  const std::vector<GemmForm> forms = all_forms();
  std::vector<Instructions> all = all_instructions();
  all.push_back({codegen::InstructionSet::avx2, false});
  for (const Instructions instructions : all) {
    const std::vector<CompiledGemm> vectors = codegen::compile_gemms(forms, instructions);
    std::vector<KernelSource> sources;
    for (size_t i = 0; i < forms.size(); ++i) sources.push_back(scalar_kernel_source(forms[i], vectors.at(i).unit, i));
    const std::vector<codegen::CompiledKernel> scalars = codegen::compile_kernels(sources);
    if (!expect_equal(scalars.size(), forms.size())) return;
    const std::array<int64_t, 3> sizes[] = {{1, 1, 1}, {5, 50, 2}, {9, 33, 31}, {17, 65, 70}, {7, 49, 801}, {4, 3, 0}};
    for (const auto& [rows, columns, depth] : sizes)
      for (size_t i = 0; i < forms.size(); ++i) {
        const Call call(forms[i], rows, columns, depth);
        using fused_gemm::GemmArguments;
        const std::vector<Tensor> actual =
            call.results_of([&](const GemmArguments& given) { run_scalar_gemm(forms[i], given, scalars[i]); });
        const std::vector<Tensor> expected =
            call.results_of([&](const GemmArguments& given) { fused_gemm::run_gemm(forms[i], vectors[i], given); });
        for (size_t k = 0; k < actual.size(); ++k)
          if (!expect(bits_of(actual[k]) == bits_of(expected[k]), "the bits differ"))
            std::printf("  of %s, %ld x %ld x %ld\n", sources[i].text.c_str(), rows, columns, depth);
      }
  }
}
