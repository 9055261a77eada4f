// The GEMMs that are compiled with the library: found by their IR, and printed from it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "codegen/gemm/prebuilt_forms.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;
using codegen::GemmForm;
using codegen::PrebuiltForms;

namespace {

std::filesystem::path prebuilt_file() {
  const auto tests = std::filesystem::path(__FILE__).parent_path().parent_path();
  return tests.parent_path() / "src/codegen/prebuilt_gemm/prebuilt_gemm.cpp";
}

}  // namespace

// UPDATE_EXPECT=1 writes the file.
TEST("the source of the prebuilt GEMMs is printed from their forms") {
  const std::string source = PrebuiltForms().source();
  if (std::getenv("UPDATE_EXPECT") != nullptr) std::ofstream(prebuilt_file()) << source;
  std::ifstream file(prebuilt_file());
  expect(std::string{std::istreambuf_iterator<char>(file), {}} == source,
         "prebuilt_gemm.cpp is not what the forms say; UPDATE_EXPECT=1 writes it");
}

TEST("a prebuilt GEMM is found by its operations, not by the names of values") {
  const PrebuiltForms forms;
  const auto first = static_cast<int>(forms.packing.size());
  for (size_t i = 0; i < forms.multiplying.size(); ++i) {
    GemmForm form = forms.multiplying[i];
    expect_equal(forms.multiplying_number(form), first + static_cast<int>(i));
    form.epilogue.name = "other";
    for (codegen::EpilogueValue& value : form.epilogue.values) value.name = "value";
    form.right = form.right == Dtype::f32 ? Dtype::bf16 : Dtype::f32;  // only packing reads it
    expect_equal(forms.multiplying_number(form), first + static_cast<int>(i));
  }
  const GemmForm f16{Dtype::f16, Dtype::f16, Dtype::f16, codegen::plain_epilogue(Dtype::f16)};
  expect_equal(forms.multiplying_number(f16), -1);
  expect_equal(forms.packing_number(f16), -1);
  GemmForm other = forms.multiplying.back();
  other.epilogue.stores[0].values[0] = codegen::gemm_sums;
  expect_equal(forms.multiplying_number(other), -1);
}

TEST("the operand that a prebuilt GEMM packs is found by its dtypes") {
  const PrebuiltForms forms;
  const auto number_of = [&](Dtype right, Dtype number) {
    return forms.packing_number({number, right, number, codegen::plain_epilogue(number)});
  };
  expect_equal(number_of(Dtype::bf16, Dtype::bf16), 0);
  expect_equal(number_of(Dtype::f32, Dtype::bf16), 1);
  expect_equal(number_of(Dtype::f32, Dtype::f32), 2);
  expect_equal(number_of(Dtype::f32, Dtype::f16), -1);
}
