#include <sstream>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

Tensor chain(Tensor x, Tensor y) {
  const Tensor product = x * y;
  const Tensor shifted = product + 1.5;
  return tanh(shifted);
}

const JitOptions fused{.executors = {"fuser"}};

template <class T>
std::string text_of(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string names_of(const std::vector<BoundSymbol>& symbols) {
  std::string out;
  for (const BoundSymbol& symbol : symbols) out += symbol.name() + " ";
  return out;
}

}  // namespace

TEST("get_fusion_symbols gives the fusions of a trace, which say their arguments' types") {
  const auto f = jit(chain, fused);
  f(randn({4, 6}), randn({4, 6}));
  expect_equal(examine::get_fusion_symbols(last_traces(f).front()).size(), 0);
  const std::vector<BoundSymbol> fusions = examine::get_fusion_symbols(last_traces(f).back());
  expect_equal(names_of(fusions), std::string("fusion0 "));
  expect_equal(text_of(fusions[0].args), std::string("(t_0, t_1)"));
  expect_equal(text_of(fusions[0].args[0].tensor().shape), std::string("[4, 6]"));
  expect_equal(fusions[0].flat_args().size(), 2);
  expect_equal(fusions[0].flat_outs()[0].tensor().dtype, Dtype::f32);
  expect(fusions[0].kwargs.empty());
  expect_text(text_of(fusions), R"(
[auto [t2] = fusion0(t_0, t_1);
   // t0 = prims::mul(t_0, t_1)  // t0: "cpu f32[4, 6]"
   // t1 = prims::add(t0, 1.5)  // t1: "cpu f32[4, 6]"
   // t2 = prims::tanh(t1)  // t2: "cpu f32[4, 6]"]
)");
}

TEST("values print as a trace shows them") {
  const Trace t = trace([](Tensor x) { return sum(x, {0, 1}, true); }, randn({2, 3}));
  expect_equal(text_of(t.bound_symbols.read()[0].args), std::string("(t_0, [0, 1], true)"));
  expect_equal(text_of(Value("a")), std::string("\"a\""));
  expect_equal(text_of(Value(1.5)), std::string("1.5"));
}

TEST("fusion_inputs are those of the last call: strides, offset, shared memory") {
  const auto f = jit(chain, fused);
  const Tensor x = randn({6, 4}), y = randn({10, 6});
  f(x.t(), y(Slice(3, 7)));
  std::vector<examine::FusionInput> inputs = examine::fusion_inputs(f, "fusion0");
  expect_equal(inputs.size(), 2);
  expect_equal(inputs[0].name, std::string("t_0"));
  expect_equal(inputs[0].shape.text() + inputs[0].strides.text(), std::string("[4, 6][1, 4]"));
  expect_equal(inputs[1].shape.text() + inputs[1].strides.text(), std::string("[4, 6][6, 1]"));
  expect_equal(inputs[0].offset, 0);
  expect_equal(inputs[1].offset, 18);
  expect(inputs[1].dtype == Dtype::f32 && inputs[1].shares_with.empty());

  // The same version, other layouts.
  f(randn({4, 6}), expand(randn({6}), {4, 6}));
  inputs = examine::fusion_inputs(f, "fusion0");
  expect_equal(inputs[0].strides.text() + inputs[1].strides.text(), std::string("[6, 1][0, 1]"));
  expect_equal(cache_misses(f), 1);

  const Tensor both = randn({8, 6});
  f(both(Slice(0, 4)), both(Slice(4, 8)));
  inputs = examine::fusion_inputs(f, "fusion1");
  expect_equal(inputs[1].shares_with, std::string("t_0"));
  expect_equal(inputs[1].offset, 24);
}

TEST("inputs that the program made or viewed have the layouts that they had there") {
  const auto f = jit(
      [](Tensor x, Tensor w) {
        const Tensor product = matmul(x, w);
        const Tensor turned = product.t();
        const Tensor half = x(Slice(), Slice(2, 4)).t();
        return tanh(turned + half);
      },
      {.executors = {"fuser"}});
  f(randn({4, 4}), randn({4, 2}));
  std::vector<std::string> layouts;
  for (const examine::FusionInput& input : examine::fusion_inputs(f, "fusion0"))
    layouts.push_back(input.shape.text() + input.strides.text() + std::to_string(input.offset));
  expect_equal(layouts, std::vector<std::string>{"[2, 4][1, 2]0", "[2, 4][1, 4]2"});
}

TEST("fusions of forward, backward and other specialisations have names of their own") {
  const auto f = jit(chain, fused);
  const auto run = [&](int64_t rows) {
    const Tensor x = randn({rows, 8}).requires_grad_();
    sum(f(x, randn({rows, 8}))).backward();
    return examine::fusion_names(f);
  };
  const std::vector<std::string> first = run(4), second = run(5);
  expect_equal(first, std::vector<std::string>{"fusion0", "fusion1"});
  expect_equal(second, std::vector<std::string>{"fusion2", "fusion3"});
  expect_equal(examine::fusion_inputs(f, "fusion3")[0].shape[0].hint(), 5);
  // For a fusion that the last call did not run, the last call that did.
  expect_equal(examine::fusion_inputs(f, "fusion1")[0].shape[0].hint(), 4);
}

TEST("with symbols for sizes, the name that last_traces shows finds what ran") {
  const auto f = jit(chain, {.cache = Cache::symbolic_values, .executors = {"fuser"}});
  f(randn({4, 6}), randn({4, 6}));
  f(randn({9, 6}), randn({9, 6}));
  const std::string shown = examine::get_fusion_symbols(last_traces(f).back()).at(0).name();
  expect_equal(examine::fusion_inputs(f, shown).at(0).shape.text(), std::string("[9, 6]"));
}

TEST("kernel_source is the text that runs") {
  const auto f = jit(chain, fused);
  f(randn({4, 6}), randn({4, 6}));
  const std::string source = examine::kernel_source(f, "fusion0");
  expect(source.find("fusion0(") != std::string::npos && source.find("tanh(") != std::string::npos, source);
}

TEST("kernel_source shows a kernel in scalar form, and its IR") {
  const auto f = jit(chain, fused);
  f(randn({4, 6}), randn({4, 6}));
  expect_text(examine::kernel_source(f, "fusion0", examine::KernelForm::scalar), R"(
extern "C" void fusion0(const Launch& launch, long first, long last) {
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const float* const t_0_row = row.of<const float>(0);
    const float* const t_1_row = row.of<const float>(1);
    float* const t2_result = row.of<float>(2);
    for (long c = 0; c < launch.columns; ++c) {
      const float t_0 = load_element(t_0_row + c);
      const float t_1 = load_element(t_1_row + c);
      const float t0 = t_0 * t_1;
      const float t1 = t0 + 1.5f;
      const float t2 = tanh(t1);
      store_element(t2_result + c, t2);
    }
  }
}
)");
  expect_text(examine::kernel_source(f, "fusion0", examine::KernelForm::ir), R"(
input 0: f32 [d0, d1]
input 1: f32 [d0, d1]
output 0: f32 [d0, d1]
rows none, columns d0, d1
%0 = load input 0 : f32 full  # t_0
%1 = load input 1 : f32 full  # t_1
%2 = multiply(%0, %1) : f32 full  # t0
%3 = add(%2, 1.5) : f32 full  # t1
%4 = tanh(%3) : f32 full, costly -> output 0  # t2
for each row
  loop 0 over columns: load %0, %1; compute %2, %3, %4; store %4
)");
}

TEST("a report counts bytes and operations once") {
  const auto f = jit(chain, fused);
  const Tensor x = randn({16, 32});
  f(x, expand(randn({32}), {16, 32}));
  const examine::FusionReport report = examine::fusion_report(f, "fusion0");
  expect_equal(report.bytes_read, (16 * 32 + 32) * 4);
  expect_equal(report.bytes_written, 16 * 32 * 4);
  expect_equal(report.operations, 3 * 16 * 32);
  expect_greater(report.microseconds, 0);
  const std::string text = text_of(report);
  expect(
      text.starts_with(
          "fusion0\n  reads t_0: \"cpu f32[16, 32]\", strides [32, 1]\n  reads t_1: \"cpu f32[16, 32]\", strides [0, "
          "1]\n"
          "  makes t2: \"cpu f32[16, 32]\", strides [32, 1]\n  2176 B read, 2048 B written, 1536 operations, "),
      text);
}

TEST("a report has the times of the last runs, without anything switched on before") {
  const auto f = jit(chain, fused);
  const Tensor x = randn({64, 128}), y = randn({64, 128});
  f(x, y);
  expect_equal(examine::fusion_report(f, "fusion0").last_runs.size(), size_t{1});
  for (int i = 0; i < 10; ++i) f(x, y);
  const examine::FusionReport report = examine::fusion_report(f, "fusion0");
  expect_equal(report.last_runs.size(), size_t{8});
  for (const double time : report.last_runs) expect(time > 0.1 && time < 1e6, std::to_string(time));
  expect(report.microseconds > 0 && report.share_of_limit > 0);
  expect(text_of(report).find("% of what the machine does at best)\n  last runs: ") != std::string::npos,
         text_of(report));
  // Op by op nothing is recorded: it is measured.
  const auto reported = examine::with_callbacks(f, {.before = [](const BoundSymbol&, const std::vector<Tensor>&) {}});
  reported(x, y);
  const examine::FusionReport measured = examine::fusion_report(reported, examine::fusion_names(reported).at(0));
  expect(measured.last_runs.empty() && measured.microseconds > 0);
}

TEST("unknown names are errors") {
  const auto f = jit(chain);
  expect_error([&] { examine::fusion_names(f); }, "fusion_names: the function has not been called yet");
  f(randn({4, 6}), randn({4, 6}));
  expect_error(
      [&] { examine::fusion_inputs(f, "fusion0"); },
      "fusion_inputs: the function has no fusion \"fusion0\"; its last call ran none (a small function is not fused "
      "unless JitOptions::executors names \"fuser\")");
  const auto g = jit(chain, fused);
  g(randn({4, 6}), randn({4, 6}));
  expect_error([&] { examine::kernel_source(g, "fusion7"); },
               "kernel_source: the function has no fusion \"fusion7\"; its last call ran fusion0");
}
