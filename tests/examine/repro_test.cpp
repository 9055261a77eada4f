#include <fulgurite/fulgurite.h>
#include <fulgurite/repro.h>

#include "executors/gemm/cost_model.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor chain(Tensor x, Tensor y) {
  const Tensor product = x * y;
  const Tensor shifted = product + 1.5;
  return tanh(shifted);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST("tensors made from descriptions have their strides and shared memory, and do not depend on the machine") {
  const std::vector<examine::FusionInput> described = {
      {.name = "a", .shape = {2, 3}, .strides = {1, 2}, .offset = 1, .dtype = Dtype::f32},
      {.name = "b", .shape = {4}, .strides = {2}, .dtype = Dtype::f32, .shares_with = "a"},
      {.name = "c", .shape = {2}, .strides = {1}, .dtype = Dtype::i64}};
  const std::vector<Tensor> made = examine::make_tensors(described, 5), other = examine::make_tensors(described, 6);
  expect_equal(made[0].strides()[1].hint(), 2);
  made[1](1) = 7.0;  // the storage's third element, a's (1, 0)
  expect_equal(made[0](1, 0).item<float>(), 7.0f);
  expect_equal(made[2].to_vector<int64_t>().size(), 2);
  expect_different(made[0](0, 0).item<float>(), other[0](0, 0).item<float>());
}

TEST("a repro of a fusion has the command, the kernel and the inputs with their strides") {
  const auto f = jit(chain, {.executors = {"fuser"}});
  f(randn({6, 4}).t(), randn({4, 6}));
  const std::string program = examine::repro(f, "fusion0");
  expect(program.starts_with("// g++ -std=c++20 -O2 fusion0.cpp -o fusion0 -lfulgurite && ./fusion0\n"),
         program.substr(0, 100));
  expect(has(program, examine::kernel_source(f, "fusion0")), "the kernel is not in it");
  expect(
      has(program, R"({.name = "t_0", .shape = {4, 6}, .strides = {1, 4}, .dtype = Dtype::f32, .moved_since = 96},)"),
      program.substr(program.find("int main")));
  expect(has(program, "const examine::Kernel fusion(kernel::fusion0, layout);") &&
         has(program, "fusion.run(all.first(2), all.subspan(2));"));
  expect(
      has(program,
          R"({.name = "t2", .shape = {4, 6}, .strides = {6, 1}, .dtype = Dtype::f32, .is_made = true, .moved_since = 96})"),
      program);
  expect(has(program, "Tensor reference(Tensor t_0, Tensor t_1)"));
}

TEST("a repro of a GEMM has its two functions and its tiles") {
  if (!fused_gemm::is_profitable_on_this_cpu(Dtype::bf16)) return;
  const auto f = jit([](Tensor x, Tensor w) { return relu(matmul(x, w)); });
  f(randn({1024, 256}).to(Dtype::bf16), randn({256, 272}).to(Dtype::bf16));
  const std::string program = examine::repro(f, "fusion0");
  expect(has(program, examine::kernel_source(f, "fusion0")), "the kernel is not in it");
  expect(has(program, "const examine::GemmLayout layout = {.left = Dtype::bf16, .right = Dtype::bf16"), program);
  expect(has(program, "const examine::Gemm fusion(kernel::") && has(program, ", layout);") &&
             has(program, "fusion.run(all.first(2), all.subspan(2));"),
         program.substr(program.find("int main")));
}

TEST("a repro compiles ops of the forward, of the backward, and of a trace that never ran") {
  const auto f = jit([](Tensor x, Tensor w) { return sum(tanh(matmul(x, w))); }, {.executors = {"eager"}});
  f(randn({4, 3}).t().contiguous().requires_grad_(), randn({4, 2})).backward();
  const std::string forward = examine::repro(f, 0, 2);
  expect(has(forward, "lines [0, 2) of augmented_forward_fn") &&
             has(forward, "jit(reference, {.executors = {\"eager\"}})"),
         forward);
  const int lines = static_cast<int>(last_backward_traces(f).back().bound_symbols.size());
  expect(has(examine::repro(f, 0, lines, examine::Stage::backward), "of backward_fn"));
  const Trace t = trace(chain, randn({2, 2}), randn({2, 2}));
  const std::string program = examine::repro(t, 1, 3, {.seed = 9}, {{"t0", {1, 2}}});
  expect(has(program, "{.name = \"t0\", .shape = {2, 2}, .strides = {1, 2}, .dtype = Dtype::f32}"), program);
  expect(has(program, "make_tensors(described, 9)"), program);
  expect_error([&] { examine::repro(t, 1, 1); }, "repro: lines [1, 1) of computation give nothing that is used later");
  expect_error(
      [&] {
        examine::repro(t, 1, 3, {}, {{"t_5", {1}}});
      },
      "repro: lines [1, 3) of computation have no input t_5");
}

TEST("a repro of overwritten inputs says so, and which ops moved") {
  const auto f = jit(
      [](Tensor x, Tensor y) {
        const Tensor a = matmul(x, y), b = matmul(y, x);
        x.copy_(tanh(x * 0.5 + a));
        return sin(matmul(b, y));
      },
      {.executors = {"eager", "fuser"}});
  f(randn({8, 8}), randn({8, 8}));
  const std::string name = examine::fusion_names(f).at(0), program = examine::repro(f, name);
  expect(has(program, ".is_made = true, .moved_since = ") && has(program, ".shares_with = \"t_0\", .is_made = true"),
         program);
}

TEST("a repro's ops are counted as last_traces shows them, with callbacks' comments among them") {
  const auto f = jit([](Tensor x) { return exp(tanh(sin(x))); }, {.executors = {"eager"}});
  const auto reported = examine::with_callbacks(
      f, {.before = [](const BoundSymbol&, const std::vector<Tensor>&) { return std::string("here"); }});
  reported(randn({4}));
  const Trace shown = last_traces(reported).back();
  int line = 0;
  while (shown.bound_symbols.read()[static_cast<size_t>(line)].name() != "tanh") ++line;
  expect(line > 1, "notes are lines of the trace that is shown");
  const std::string program = examine::repro(reported, line, line + 1);
  expect(has(program, "= tanh(") && !has(program, "= exp(") && !has(program, "= sin("), program);
}

TEST("a repro for PyTorch has the results of the ops") {
  const Trace t = trace(chain, randn({2, 2}), randn({2, 2}));
  const std::string program = examine::repro(t, 0, 2, {.language = examine::ReproOptions::Language::python});
  expect(program.starts_with("# python3 lines_0_2.py\n"), program.substr(0, 80));
  expect(has(program, "def reference(t_0, t_1):") && has(program, "expected = [\n    ([2, 2], [0, 1, 2, 3],"), program);
}

TEST("compare gives a program's exit status") {
  const Tensor x = randn({4}), y = x + 1.0;
  const auto gives = [](Tensor t) { return [t](const std::vector<Tensor>&) { return std::vector<Tensor>{t}; }; };
  expect_equal(examine::compare("same", gives(x), gives(x), {}, 1), 0);
  expect_equal(examine::compare("other", gives(x), gives(y), {}, 0), 1);
  expect_equal(examine::compare("allowed", gives(x), gives(y), {.relative = 1e3, .absolute = 1e3}, 0), 0);
}

TEST("a GEMM's kernels are not run without the tiles that they were compiled for") {
  struct AnyLaunch {};
  void (*const kernel)(const AnyLaunch&, long, long) = [](const AnyLaunch&, long, long) {};
  expect_error(
      [&] { examine::Gemm(kernel, kernel, {}); },
      "Gemm: the layout's tiles must be those that the kernels were written for; a program that `fulgurite repro` "
      "writes has them");
}
