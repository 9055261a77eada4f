// Grouping of ops into fusions.
#include <fulgurite/fulgurite.h>

#include "executors/fuser/fused.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

namespace {

// "mul add | tanh": the names of each fusion's ops.
std::string fused_ops(const Trace& trace) {
  std::string out;
  for (const BoundSymbol& bound : trace.bound_symbols) {
    if (!bound.is_fusion()) continue;
    if (!out.empty()) out += " | ";
    for (size_t i = 0; i < bound.subsymbols.size(); ++i) out += (i ? " " : "") + bound.subsymbols.read()[i].name();
  }
  return out;
}

template <class F, class... Inputs>
std::string lines_of(F function, const Inputs&... inputs) {
  auto f = jit(function, {.executors = {"fuser"}, .debug = {.check_traces = true}});
  const Tensor fused = f(inputs...);
  expect_close(fused, function(inputs...), 1e-5);
  return fused_ops(last_traces(f).back());
}

}  // namespace

TEST("fusion groups grow across independent ops") {
  const Tensor x = ones({4, 5}), w = ones({5, 5});
  expect_equal(lines_of(
                   [](Tensor x, Tensor w) {
                     const Tensor product = x * 2.0;
                     const Tensor other = matmul(x, w);
                     const Tensor sum = product + 1.0;
                     const Tensor bent = tanh(sum);
                     return matmul(other, w) + bent;
                   },
                   x, w),
               std::string("mul add tanh add"));
}

TEST("fusion groups that reach past each other have no cyclic dependency") {
  const Tensor x = ones({5, 5}), y = ones({5, 5}), w = ones({5, 5});
  const auto function = [](Tensor x, Tensor y, Tensor w) {
    const Tensor early = x + 1.0;
    const Tensor product = matmul(early, w);
    const Tensor scaled = product * y;
    const Tensor other = y * 3.0;
    const Tensor late = matmul(other, w);
    const Tensor sum = late + early;  // one region with `early`
    return matmul(scaled, sum);       // so `scaled` and `other`, which read the same y, are none
  };
  expect_equal(lines_of(function, x, y, w), std::string("add add"));
}

TEST("two ops with an unsupported op between them stay two fusion groups") {
  const Tensor x = ones({5, 5}), w = ones({5, 5});
  expect_equal(lines_of(
                   [](Tensor x, Tensor w) {
                     const Tensor a = x * 2.0;
                     const Tensor b = a + 1.0;
                     const Tensor product = matmul(b, w);
                     const Tensor c = product + b;
                     return c * b;
                   },
                   x, w),
               std::string("mul add | add mul"));
}

TEST("a third fusion group closes no cycle") {
  const Tensor x = ones({5, 5}), w = ones({5, 5});
  expect_equal(lines_of(
                   [](Tensor x, Tensor w) {
                     const Tensor a = tanh(x);
                     const Tensor b = a * 2.0;
                     const Tensor p = matmul(a, w);
                     const Tensor q = p + 1.0;
                     const Tensor r = q * q;
                     const Tensor s = matmul(r, w);
                     const Tensor t = s + b;
                     return t * q;
                   },
                   x, w),
               std::string("tanh mul | add mul | add mul"));
}

TEST("reductions along different dimensions are different fusion groups") {
  const Tensor x = ones({4, 5});
  expect_equal(lines_of(
                   [](Tensor x) {
                     const Tensor a = x * 2.0;
                     const Tensor rows = softmax(a, -1);
                     const Tensor columns = sum(rows, {0}, true);
                     return rows / columns;
                   },
                   x),
               std::string("mul softmax sum"));
}

TEST("an expanded value is read unexpanded") {
  const Tensor x = ones({4, 5}), row = ones({4});
  expect_equal(lines_of(
                   [](Tensor x, Tensor row) {
                     const Tensor scaled = row * 3.0;
                     const Tensor column = unsqueeze(scaled, 1);
                     const Tensor whole = expand(column, {4, 5});
                     const Tensor product = x * whole;
                     return product + 1.0;
                   },
                   x, row),
               std::string("mul unsqueeze expand mul add"));
}

TEST("a single op is left to the executor that has a kernel for it") {
  const Tensor x = ones({4, 5});
  expect_equal(lines_of([](Tensor x) { return tanh(x); }, x), std::string());
  expect_equal(lines_of([](Tensor x) { return nn::softsign(x); }, x), std::string("softsign"));
}

TEST("dimensions that a view joins or divides are looked through") {
  const Tensor x = ones({2, 3, 4}), b = ones({4});
  auto f = jit(
      [](Tensor x, Tensor b) {
        const Tensor shifted = x + b;
        const Tensor bent = tanh(shifted);
        const Tensor rows = reshape(bent, {-1, 4});
        const Tensor columns = sum(rows, {0});
        const Tensor doubled = rows * 2.0;
        return std::tuple(bent, columns, doubled);
      },
      {.executors = {"fuser"}, .debug = {.check_traces = true}});
  const auto [bent, columns, doubled] = f(x, b);
  expect_equal(fused_ops(last_traces(f).back()), std::string("add tanh reshape sum mul"));
  expect_equal(doubled.shape().text(), std::string("[6, 4]"));
  expect_near(columns.to_vector<float>(), {5.784166, 5.784166, 5.784166, 5.784166}, 1e-5);
  expect_near(doubled.sum().item<double>(), 2 * bent.sum().item<double>(), 1e-5);
}

TEST("a value recomputed in the kernel that computes it is stored once") {
  manual_seed(9);
  const Tensor x = randn({512, 256}), weight = randn({256, 256});
  const auto loss = [](Tensor a, Tensor b) { return sum(matmul(nn::gelu(a), b)); };
  const auto f = jit(value_and_grad<0, 1>(loss), {.executors = {"fuser", "onednn", "eager"}});
  const auto [value, gradients] = f(x, weight);
  const auto [expected_value, expected] = value_and_grad<0, 1>(loss)(x, weight);
  expect_close(value, expected_value, 1e-2);
  expect_close(std::get<0>(gradients), std::get<0>(expected), 1e-4);
  expect_close(std::get<1>(gradients), std::get<1>(expected), 1e-3);
  const Trace last = last_traces(f).back();
  int gelus = 0;
  for (const BoundSymbol& bound : last.bound_symbols) {
    gelus += bound.symbol->name() == "gelu";
    for (const BoundSymbol& inner : bound.subsymbols) gelus += bound.is_fusion() && inner.symbol->name() == "gelu";
  }
  expect_equal(gelus, 1);
  expect_text(kernel_of(last, 0), R"(
extern "C" void fusion0(const Launch& launch, long first, long last) {
  for (Row row(launch, first); first < last; row.next(), ++first) {
    const auto* const t_0_row = row.of<const float>(0);
    const auto* const t11_row = row.of<const float>(1);
    const auto t4_row = row.result<float>(2);
    const auto t29_row = row.result<float>(3);
    for (Columns c(launch); c.more(); c.next()) {
      const Floats t_0 = load(t_0_row, c);
      const Floats t11 = load(t11_row, c);
      const Floats t4 = gelu(t_0);
      const Floats t29 = gelu_backward(t11, t_0);
      store(t4_row, c, t4);
      store(t29_row, c, t29);
    }
  }
}
)");
}
