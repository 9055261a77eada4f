// Ops that stay in front of a GEMM although ops after the GEMM read them, too.
#include "executors/fuser/fused.h"
#include "executors/gemm/cost_model.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("the operands of a GEMM are computed before it, even if later ops read them too") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  manual_seed(7);
  const NoGrad no_grad;
  const auto residual = [](Tensor x, Tensor weight) {
    const Tensor limited = clamp(x, -0.5, 1.25);
    return matmul(limited, weight) + limited;
  };
  const Tensor x = randn({1024, 272}).to(Dtype::bf16), weight = (randn({272, 272}) * 0.1).to(Dtype::bf16);
  const auto f = jit(residual);
  expect_close(f(x, weight).to(Dtype::f32), residual(x.to(Dtype::f32), weight.to(Dtype::f32)), 0.05);
  const std::string text = print(last_traces(f).back(), {.time = false, .source = false});
  const size_t made = text.rfind(" = clamp("), read = text.rfind("] = fusion0(");
  expect(made != std::string::npos && read != std::string::npos && made < read, text);
}
