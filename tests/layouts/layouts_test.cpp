// Every operator on each of its cases, with tensors that are not contiguous.
#include "executors/reference.h"
#include "support/cases/altered_inputs.h"
#include "support/cases/case_traces.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

/// Their results' elements are whatever was there.
bool is_uninitialized(const OperatorCase& c) { return c.symbol->name().starts_with("empty"); }

/// GEMMs choose their order of summation by the layout; elsewhere it is one order.
bool multiplies_matrices(const std::vector<BoundSymbol>& lines) {
  for (const BoundSymbol& line : lines)
    if (line.symbol->traits.matmul || multiplies_matrices(line.subsymbols)) return true;
  return false;
}
bool is_gemm(const OperatorCase& c) {
  return c.symbol->name().starts_with("scaled_dot_product") ||
         multiplies_matrices(record_case(c, c.inputs()).bound_symbols);
}

/// Compares the answers to one case's inputs in every layout.
void check_layouts(const OperatorCase& c, const std::vector<Tensor>& inputs, const std::string& what) {
  const Answer expected = answer_of(c, inputs);
  Dtype computed = Dtype::f64;
  for (const Tensor& input : inputs)
    if (is_floating(input.dtype()) && size_of(input.dtype()) < size_of(computed)) computed = input.dtype();
  const double tolerance = is_gemm(c) ? 4 * tolerance_of(computed) : 0;
  const auto check = [&](const std::vector<Tensor>& given, const Answer& wanted, const std::string& how) {
    const Answer actual = answer_of(c, given);
    const std::string wrong = difference(actual.results, wanted.results, tolerance);
    expect(wrong.empty() && actual.error.empty() == wanted.error.empty(),
           c.name + ", " + what + ", " + how + ": " + wrong + " " + actual.error);
  };
  check(changed(inputs, transposed_copy), expected, "transposed");
  check(changed(inputs, spaced_copy), expected, "spaced");
  int64_t most = 0;
  for (const Tensor& input : inputs) most = std::max(most, input.ndim());
  for (int64_t dim = 0; dim < most; ++dim) {
    const std::vector<Tensor> views = changed(inputs, [&](const Tensor& t) { return expanded(t, dim); });
    const std::vector<Tensor> copies = changed(views, [](const Tensor& t) { return t.contiguous(); });
    check(views, answer_of(c, copies), "dimension " + std::to_string(dim) + " expanded");
  }
}

}  // namespace

TEST("every operator gives the same bits for any layout of its tensors, in every floating dtype") {
  std::string refused;
  for (const OperatorCase& c : chosen_cases()) {
    if (c.contiguous_only || is_uninitialized(c)) continue;
    for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const std::vector<Tensor> inputs = plain_inputs(c, dtype);
      const std::string error = answer_of(c, inputs).error;
      if (error.find("needs the dtype f32 or f64") != std::string::npos) continue;
      if (!error.empty()) {
        refused += c.name + " " + std::string(name(dtype)) + "\n";
        continue;
      }
      check_layouts(c, inputs, std::string(name(dtype)));
    }
  }
  if (!runs_all_cases()) return;
  // Statistics are f32 there.
  expect_text(refused, R"(
prims.layer_norm_backward #1 bf16
prims.layer_norm_backward #1 f16
prims.layer_norm_backward #2 bf16
prims.layer_norm_backward #2 f16
prims.scaled_dot_product_attention_backward #1 bf16
prims.scaled_dot_product_attention_backward #1 f16
prims.scaled_dot_product_attention_backward #2 bf16
prims.scaled_dot_product_attention_backward #2 f16
prims.scaled_dot_product_attention_backward #3 bf16
prims.scaled_dot_product_attention_backward #3 f16
prims.scaled_dot_product_attention_backward #4 bf16
prims.scaled_dot_product_attention_backward #4 f16
prims.scaled_dot_product_attention_backward #5 bf16
prims.scaled_dot_product_attention_backward #5 f16
)");
}

TEST("every operator that takes integers or booleans gives the same bits for any layout") {
  for (const OperatorCase& c : chosen_cases()) {
    if (c.contiguous_only || is_uninitialized(c)) continue;
    for (const Dtype dtype : {Dtype::i64, Dtype::i32, Dtype::i16, Dtype::i8, Dtype::u8, Dtype::boolean}) {
      const std::vector<Tensor> inputs = plain_inputs(c, dtype);
      if (answer_of(c, inputs).error.empty()) check_layouts(c, inputs, std::string(name(dtype)));
    }
  }
}

TEST("NaN, infinities and the ends of the range give the same bits for any layout") {
  for (const OperatorCase& c : chosen_cases()) {
    if (c.contiguous_only || is_uninitialized(c)) continue;
    const bool sums_in_any_order = is_gemm(c);  // so that what overflows on the way depends on it
    for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const std::vector<Tensor> inputs = changed(plain_inputs(c, dtype), [&](const Tensor& t) {
        return with_specials(t, sums_in_any_order ? 100 : t.dtype() == Dtype::f16 ? 65504 : 3e38);
      });
      check_layouts(c, inputs, std::string(name(dtype)) + " with specials");
    }
  }
}
