// Passes over kernels, printed before and after.
#include "codegen/ir/kernel_passes.h"

#include "codegen/kernel_of_fusion.h"

using namespace fulgurite;
using namespace fulgurite::codegen;
using namespace fulgurite::test;

namespace {

/// A kernel of one row that is built value by value.
class KernelBuilder {
 public:
  explicit KernelBuilder(Dtype dtype) : dtype_(dtype) { kernel_.dimensions = 1; }

  int input() {
    KernelValue value;
    value.kind = KernelValue::Kind::input;
    value.input = static_cast<int>(kernel_.inputs.size());
    value.is_rounded = is_half(dtype_);
    kernel_.inputs.push_back({value.input, dtype_, Extent::full, false, {1}});
    return add(std::move(value));
  }
  int compute(ScalarExpr expression, SmallVector<int, 4> operands, bool is_rounded = false) {
    KernelValue value;
    value.expression = std::move(expression);
    value.operands = std::move(operands);
    value.is_rounded = is_rounded;
    return add(std::move(value));
  }
  void store(int value) {
    kernel_.values[static_cast<size_t>(value)].output = static_cast<int>(kernel_.outputs.size());
    kernel_.outputs.push_back({100, dtype_, Extent::full, false, {1}});
  }
  const codegen::Kernel& kernel() const { return kernel_; }

 private:
  int add(KernelValue value) {
    const int index = static_cast<int>(kernel_.values.size());
    value.name = "t" + std::to_string(index);
    value.dtype = dtype_;
    value.lanes = lanes_of(dtype_);
    kernel_.values.push_back(std::move(value));
    return index;
  }

  const Dtype dtype_;
  codegen::Kernel kernel_;
};

ScalarExpr x() { return codegen::operand(0, Lanes::floats); }
ScalarExpr y() { return codegen::operand(1, Lanes::floats); }

}  // namespace

TEST("values that no store needs are removed, and the others numbered again") {
  KernelBuilder builder(Dtype::f32);
  const int in = builder.input();
  const int unused = builder.compute(codegen::apply(ScalarOp::exp, x()), {in});
  builder.compute(x() + y(), {in, unused});
  const int kept = builder.compute(codegen::apply(ScalarOp::negate, x()), {in});
  builder.store(builder.compute(x() * y(), {kept, in}));
  expect_text(kernel_ir_text(builder.kernel()), R"(
input 0: f32 [d0]
output 0: f32 [d0]
rows none, columns d0
%0 = load input 0 : f32 full  # t0
%1 = exp(%0) : f32 full  # t1
%2 = add(%0, %1) : f32 full  # t2
%3 = negate(%0) : f32 full  # t3
%4 = multiply(%3, %0) : f32 full -> output 0  # t4
)");
  expect_text(kernel_ir_text(remove_dead_values(builder.kernel())), R"(
input 0: f32 [d0]
output 0: f32 [d0]
rows none, columns d0
%0 = load input 0 : f32 full  # t0
%1 = negate(%0) : f32 full  # t3
%2 = multiply(%1, %0) : f32 full -> output 0  # t4
)");
}

TEST("a store rounds, so that a value that is only stored need not") {
  KernelBuilder builder(Dtype::bf16);
  const int in = builder.input();
  const int used = builder.compute(rounded_to(codegen::apply(ScalarOp::exp, x()), Dtype::bf16), {in}, true);
  const int stored = builder.compute(rounded_to(x() * y(), Dtype::bf16), {used, in}, true);
  builder.store(stored);
  expect_text(kernel_ir_text(builder.kernel()), R"(
input 0: bf16 [d0]
output 0: bf16 [d0]
rows none, columns d0
%0 = load input 0 : bf16 in f32 full, rounded  # t0
%1 = round_bf16(exp(%0)) : bf16 in f32 full, rounded  # t1
%2 = round_bf16(multiply(%1, %0)) : bf16 in f32 full, rounded -> output 0  # t2
)");
  expect_text(kernel_ir_text(drop_rounding_before_stores(builder.kernel())), R"(
input 0: bf16 [d0]
output 0: bf16 [d0]
rows none, columns d0
%0 = load input 0 : bf16 in f32 full, rounded  # t0
%1 = round_bf16(exp(%0)) : bf16 in f32 full, rounded  # t1
%2 = multiply(%1, %0) : bf16 in f32 full -> output 0  # t2
)");
}

TEST("roundings of values computed from bf16 need no check for other NaNs") {
  KernelBuilder builder(Dtype::bf16);
  const int in = builder.input();
  const int rounded = builder.compute(rounded_to(codegen::apply(ScalarOp::exp, x()), Dtype::bf16), {in}, true);
  builder.store(builder.compute(codegen::apply(ScalarOp::negate, x()), {rounded}, true));
  builder.store(builder.compute(x() * y(), {rounded, in}));
  expect_text(kernel_ir_text(builder.kernel()), R"(
input 0: bf16 [d0]
output 0: bf16 [d0]
output 1: bf16 [d0]
rows none, columns d0
%0 = load input 0 : bf16 in f32 full, rounded  # t0
%1 = round_bf16(exp(%0)) : bf16 in f32 full, rounded  # t1
%2 = negate(%1) : bf16 in f32 full, rounded -> output 0  # t2
%3 = multiply(%1, %0) : bf16 in f32 full -> output 1  # t3
)");
  expect_text(kernel_ir_text(choose_bf16_roundings(builder.kernel())), R"(
input 0: bf16 [d0]
output 0: bf16 [d0]
output 1: bf16 [d0]
rows none, columns d0
%0 = load input 0 : bf16 in f32 full, rounded  # t0
%1 = round_inside_bf16(exp(%0)) : bf16 in f32 full, rounded  # t1
%2 = negate(%1) : bf16 in f32 full, rounded -> output 0 (exact)  # t2
%3 = multiply(%1, %0) : bf16 in f32 full -> output 1 (inside bf16)  # t3
)");
}

TEST("an expression refuses operands of other types") {
  const ScalarExpr whole_numbers = codegen::operand(0, Lanes::ints);
  const auto message_of = [](auto build) {
    try {
      build();
    } catch (const InternalError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  expect_text(message_of([&] { return x() + whole_numbers; }), R"(
kernels have no add of these types
)");
  expect_text(message_of([&] { return codegen::apply(ScalarOp::exp, whole_numbers); }), R"(
kernels have no exp of these types
)");
  expect_text(message_of([&] { return codegen::select(x(), x(), x()); }), R"(
kernels have no select of these types
)");
  const ScalarExpr replaced[] = {whole_numbers};
  expect_text(message_of([&] { return substituted(codegen::apply(ScalarOp::exp, x()), replaced); }), R"(
an operand of a kernel's expression has another type
)");
}
