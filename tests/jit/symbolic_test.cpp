// Symbolic sizes and scalars: recorded traces, guards, and correct hits.
#include <fulgurite/error.h>
#include <fulgurite/fulgurite.h>

#include "support/test.h"

namespace fulgurite {

namespace {

const JitOptions symbolic{.cache = Cache::symbolic_values};

bool is_equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && all(eq(a, b)).item<bool>();
}

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

// No version may have been recorded with constants because symbols failed.
template <class F>
void expect_symbols(const F& f, SourceLocation at = SourceLocation::here()) {
  const std::string text = explain(f);
  expect(text.find("because with symbols") == std::string::npos, text, at);
}

}  // namespace

TEST("one program serves two sizes, gradients included, and reads the sizes once") {
  const auto f = jit(
      [](Tensor a, Tensor b) {
        a = a.unsqueeze(1);
        return a + b;
      },
      symbolic);
  for (const int64_t rows : {3, 5}) {
    const Tensor a = randn({rows, 4}).requires_grad_(), b = randn({2, 4}).requires_grad_();
    const Tensor y = f(a, b);
    expect(is_equal(y, a.detach().unsqueeze(1) + b.detach()));
    const std::vector<Tensor> grads = autograd::grad({sum(y * y)}, {a, b});
    const Tensor eager = a.unsqueeze(1) + b;
    const std::vector<Tensor> expected = autograd::grad({sum(eager * eager)}, {a, b});
    expect_near(grads[0].to_vector<float>(), expected[0].to_vector<float>());
    expect_near(grads[1].to_vector<float>(), expected[1].to_vector<float>());
  }
  expect_symbols(f);
  expect_equal(cache_misses(f), 1);
  expect_equal(cache_hits(f), 1);
  expect_python(last_traces(f).front(), R"(
import torch

@torch.no_grad()
def computation(t_0, t_1):
  # t_0: "cpu f32[i0=3, i1=4]"
  # t_1: "cpu f32[i3=2, i4=4]"
  (i0, i1) = t_0.shape  # i0: "int 3", i1: "int 4"
  t2 = torch.unsqueeze(t_0, 1)  # t2: "cpu f32[i0=3, 1, i1=4]"
  (i3, i4) = t_1.shape  # i3: "int 2", i4: "int 4"
  t5 = torch.add(t2, t_1)  # t5: "cpu f32[i0=3, i3=2, i1=4]"
  b6 = (i1 == 1)  # b6: "bool False"
  b7 = (i4 == 1)  # b7: "bool False"
  b8 = (i1 == i4)  # b8: "bool True"
  return t5
)");
  expect_trace(last_traces(f).back(), R"(
// Constructed by Delete Last Used
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

AugmentedForward augmented_forward_fn(Tensor t_0, Tensor t_1) {
  // t_0: "cpu f32[i0=3, i1=4]"
  // t_1: "cpu f32[i3=2, i4=4]"
  auto [i0, i1] = prims::shape<2>(t_0);  // i0: "int 3", i1: "int 4"
  auto t2 = unsqueeze(t_0, 1);  // t2: "cpu f32[i0=3, 1, i1=4]"
  auto [i3, i4] = prims::shape<2>(t_1);  // i3: "int 2", i4: "int 4"
  auto t5 = add(t2, t_1);  // t5: "cpu f32[i0=3, i3=2, i1=4]"
  del(t2);
  return {.output = {t5}, .saved_for_backward = {{}, {}}};
}
)");
  expect_python(last_backward_traces(f).back(), R"(
# Constructed by Delete Last Used
import torch

def clear_collection(collection):
  if isinstance(collection, list):
    collection.clear()

@torch.no_grad()
def backward_fn(saved_for_backward, cotangents):
  # saved_for_backward: "Collection"
  # cotangents: "Collection"
  _, \
  _, \
  = saved_for_backward
  clear_collection(saved_for_backward)
  del saved_for_backward
  t9, \
  = cotangents
  clear_collection(cotangents)
  del cotangents
  t14 = torch.sum(t9, (1,), True)  # t14: "cpu f32[i0=3, 1, i1=4]"
  t17 = torch.sum(t9, (0,))  # t17: "cpu f32[i3=2, i1=4]"
  del t9
  t18 = torch.squeeze(t14, (1,))  # t18: "cpu f32[i0=3, i1=4]"
  del t14
  return (t18, t17)
)");
  expect_python(last_prologue_traces(f).front(), R"(
import torch

def check_tensor(x, shape, device, dtype, requires_grad):
  assert len(x.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, x.shape)), x.shape
  assert x.device == torch.device(device) and x.dtype == dtype, (x.device, x.dtype)
  assert x.requires_grad == requires_grad

def check_aliases(tensors, groups):
  seen = {}
  for i, t in enumerate(tensors):
    seen.setdefault(t.untyped_storage().data_ptr(), []).append(i)
  assert [tuple(g) for g in seen.values() if len(g) > 1] == [tuple(g) for g in groups], seen

def unpack_field(structure, name):
  return structure[name] if isinstance(structure, dict) else getattr(structure, name)

def check_number(n, value):
  assert type(n) is type(value) and (n == value or n != n and value != value), n

def check_literal(value, expected):
  assert value == expected, value

def check_condition(outcome, expected):
  assert outcome == expected

@torch.no_grad()
def prologue(t_0, t_1, modes):
  # t_0: "cpu f32[i0=3, i1=4]"
  # t_1: "cpu f32[i3=2, i4=4]"
  # modes: "Collection"
  (i0, i1) = t_0.shape  # i0: "int 3", i1: "int 4"
  check_tensor(t_0, (i0, i1), 'cpu', torch.float32, True)
  (i3, i4) = t_1.shape  # i3: "int 2", i4: "int 4"
  check_tensor(t_1, (i3, i4), 'cpu', torch.float32, True)
  check_aliases((t_0, t_1), ())
  grad_enabled = unpack_field(modes, 'grad_enabled')  # grad_enabled: "bool True"
  check_number(grad_enabled, True)
  default_dtype = unpack_field(modes, 'default_dtype')
  check_literal(default_dtype, torch.float32)
  autocast = unpack_field(modes, 'autocast')
  check_literal(autocast, None)
  b6 = (i1 == 1)  # b6: "bool False"
  check_condition(b6, False)
  b7 = (i4 == 1)  # b7: "bool False"
  check_condition(b7, False)
  b8 = (i1 == i4)  # b8: "bool True"
  check_condition(b8, True)
  b10 = (i3 == 1)  # b10: "bool False"
  check_condition(b10, False)
  b11 = (i0 == 1)  # b11: "bool False"
  check_condition(b11, False)
  b12 = (i3 != 1)  # b12: "bool True"
  check_condition(b12, True)
  return (t_0, t_1)
)");
}

TEST("a tensor read twice has one op for its sizes") {
  const auto f = jit([](Tensor a) { return reshape(a, {a.size(1), a.size(0)}) * a.size(0) + a.numel(); }, symbolic);
  expect(is_equal(f(ones({2, 3})), full({3, 2}, 8.0)));
  expect(is_equal(f(ones({4, 2})), full({2, 4}, 12.0)));
  expect_equal(cache_misses(f), 1);
  expect_equal(count(last_traces(f).front().python({.time = false, .source = false}), ".shape"), 1u);
  expect_symbols(f);
}

TEST("a size that broadcasts is guarded: no wrong hit") {
  const auto f = jit([](Tensor a, Tensor b) { return a + b; }, symbolic);
  const Tensor x = arange(4, {.dtype = Dtype::f32}).reshape({2, 2}), one = ones({1});
  expect(is_equal(f(x, one), x + one));
  const Tensor column = arange(2, {.dtype = Dtype::f32}).reshape({2, 1}), row = arange(8, {.dtype = Dtype::f32});
  expect(is_equal(f(column, row), column + row));
  expect_equal(cache_misses(f), 2);
  expect(is_equal(f(ones({3, 1}), ones({5})), full({3, 5}, 2.0)));
  expect(is_equal(f(ones({3, 7}), one), full({3, 7}, 2.0)));
  expect_equal(cache_misses(f), 2);
  expect_equal(cache_hits(f), 2);
}

TEST("numbers are symbols where the function takes Int or Float, and constants where it takes a C++ number") {
  const auto f = jit([](Tensor x, Float s, Int n) { return x * s + n; }, symbolic);
  expect_near(f(ones({2}), 2.0, 3).to_vector<float>(), {5, 5});
  expect_near(f(ones({3}), 4.0, -1).to_vector<float>(), {3, 3, 3});
  expect_equal(cache_misses(f), 1);
  expect_trace(last_traces(f).front(), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0, Float n_0, Int n_1) {
  // t_0: "cpu f32[i0=2]"
  // n_0: "float 2.0"
  // n_1: "int 3"
  auto [i0] = prims::shape<1>(t_0);  // i0: "int 2"
  auto t1 = mul(t_0, n_0);  // t1: "cpu f32[i0=2]"
  auto t2 = add(t1, n_1);  // t2: "cpu f32[i0=2]"
  return t2;
}
)");
  const auto g = jit([](Tensor x, double s) { return x * s; }, symbolic);
  g(ones({2}), 2.0);
  g(ones({3}), 2.0);
  expect_equal(cache_misses(g), 1);
  g(ones({3}), 3.0);
  expect_equal(cache_misses(g), 2);
}

TEST("a branch on a number is a guard, and a number converted is one value") {
  const auto f = jit(
      [](Tensor x, Int n) {
        if (n > 2) return x * n;
        return x + static_cast<double>(static_cast<int64_t>(n));
      },
      symbolic);
  expect_near(f(ones({1}), 3).to_vector<float>(), {3});
  expect_near(f(ones({1}), 9).to_vector<float>(), {9});
  expect_equal(cache_misses(f), 1);
  expect_near(f(ones({1}), 1).to_vector<float>(), {2});
  expect_near(f(ones({1}), 0).to_vector<float>(), {1});
  expect_equal(cache_misses(f), 3);
  const std::string text = explain(f);
  for (const char* part : {"holds where: n_0 > 2", "holds where: not (n_0 > 2), n_0 == 1"})
    expect(text.find(part) != std::string::npos, std::string("explain lacks: ") + part + "\n" + text);
}

TEST("numbers far beyond what a double holds are compared exactly") {
  const auto f = jit([](Tensor x, Int n) { return n == 9007199254740993 ? x + 1 : x; }, symbolic);
  expect_near(f(zeros({1}), 9007199254740993).to_vector<float>(), {1});
  expect_near(f(zeros({1}), 9007199254740992).to_vector<float>(), {0});
}

TEST("numbers among the results are those of each call") {
  const auto f =
      jit([](Tensor x, Float s) { return std::tuple<Tensor, Int, Float>(x + 1, x.size(0) * 2, s * 0.5); }, symbolic);
  const auto [y, n, h] = f(ones({2}), 1.0);
  expect_equal(static_cast<int64_t>(n), 4);
  expect_equal(static_cast<double>(h), 0.5);
  const auto [z, m, q] = f(ones({7}), 3.0);
  expect_equal(static_cast<int64_t>(m), 14);
  expect_equal(static_cast<double>(q), 1.5);
  expect_equal(cache_misses(f), 1);
}

TEST("a size that would be negative is refused as in eager mode") {
  const auto f = jit([](Tensor x) { return zeros({x.size(0) - 2}) + 1; }, symbolic);
  expect_equal(f(ones({5})).numel().hint(), 3);
  expect_equal(f(ones({2})).numel().hint(), 0);
  expect_error([&] { f(ones({1})); }, "a size is negative");
  expect_equal(f(ones({6})).numel().hint(), 4);
}

TEST("errors are those of constant sizes") {
  const auto f = jit([](Tensor a, Tensor b) { return matmul(a, b); }, symbolic);
  f(ones({2, 3}), ones({3, 4}));
  expect_error([&] { f(ones({2, 3}), ones({4, 4})); }, "inner sizes differ: 3 and 4");
}

TEST("mark_dynamic makes one size a symbol in constant mode") {
  const auto f = jit([](Tensor x) { return sum(x, 1) * x.size(0); });
  for (const int64_t rows : {2, 3, 4}) {
    const Tensor x = ones({rows, 2});
    mark_dynamic(x, 0);
    expect_near(f(x).to_vector<float>(),
                std::vector<double>(static_cast<size_t>(rows), 2.0 * static_cast<double>(rows)));
  }
  expect_equal(cache_misses(f), 1);
  expect_trace(last_traces(f).front(), R"(
#include <fulgurite/fulgurite.h>
using namespace fulgurite;

Tensor computation(Tensor t_0) {
  // t_0: "cpu f32[i0=2, 2]"
  Int i0 = prims::shape<2>(t_0)[0];  // i0: "int 2"
  auto t1 = sum(t_0, {1});  // t1: "cpu f32[i0=2]"
  auto t2 = mul(t1, i0);  // t2: "cpu f32[i0=2]"
  return t2;
}
)");
  const Tensor wider = ones({2, 3});
  mark_dynamic(wider, -2);
  f(wider);
  expect_equal(cache_misses(f), 2);
  f(ones({2, 3}));
  expect_equal(cache_misses(f), 3);
  expect_error([&] { mark_dynamic(wider, 2); }, "dim 2 is out of range for cpu f32[2, 3]");
}

TEST("arguments that share memory keep constant sizes") {
  const auto f = jit(
      [](Tensor a, Tensor b) {
        a.add_(1);
        return b * 2;
      },
      symbolic);
  for (const int64_t size : {4, 6}) {
    const Tensor a = zeros({size});
    const Tensor b = a.narrow(0, 1, 2);
    expect_near(f(a, b).to_vector<float>(), {2, 2});
  }
}

TEST("the same tensor given twice is one argument") {
  const auto f = jit([](Tensor a, Tensor b) { return a * b; }, symbolic);
  const Tensor x = full({3}, 2.0), y = full({5}, 3.0);
  expect_near(f(x, x).to_vector<float>(), {4, 4, 4});
  expect_near(f(y, y).to_vector<float>(), {9, 9, 9, 9, 9});
  expect_equal(cache_misses(f), 1);
}

TEST("functions with graph breaks have constant sizes") {
  int runs = 0;
  const auto f = jit(
      [&](Tensor x) {
        ++runs;
        const double total = sum(x).item<double>();
        return x * total;
      },
      symbolic);
  expect_near(f(ones({2})).to_vector<float>(), {2, 2});
  expect_near(f(ones({3})).to_vector<float>(), {3, 3, 3});
  runs = 0;
  expect_near(f(ones({3})).to_vector<float>(), {3, 3, 3});
  expect_equal(runs, 1);
}

TEST("gradients inside a traced function use the symbols of the function") {
  const auto loss = [](Tensor w, Tensor x) { return mean(square(matmul(x, w))) * x.size(0); };
  const auto f = jit([&](Tensor w, Tensor x) { return value_and_grad(loss)(w, x).second; }, symbolic);
  for (const int64_t rows : {3, 5, 7}) {
    const Tensor w = randn({4, 2}), x = randn({rows, 4});
    expect_near(f(w, x).to_vector<float>(), grad(loss)(w, x).to_vector<float>(), 1e-5);
  }
  expect_equal(cache_misses(f), 1);
  expect_symbols(f);
}

TEST("double backward works at every size") {
  const auto f = jit([](Tensor x) { return sum(x * x * x) / x.size(0); }, symbolic);
  for (const int64_t size : {2, 5}) {
    const Tensor x = full({size}, 2.0).requires_grad_();
    const Tensor first = autograd::grad({f(x)}, {x}, {}, {.create_graph = true})[0];
    const Tensor second = autograd::grad({sum(first)}, {x})[0];
    expect_near(second.to_vector<float>(),
                std::vector<double>(static_cast<size_t>(size), 12.0 / static_cast<double>(size)));
  }
  expect_equal(cache_misses(f), 1);
}

TEST("more sets of sizes than are kept") {
  const auto f = jit([](Tensor x) { return x + x.size(0); }, symbolic);
  for (int round = 0; round < 2; ++round)
    for (int64_t size = 1; size <= 200; ++size)
      expect_near(f(zeros({size})).to_vector<float>()[0], static_cast<double>(size));
  expect_equal(cache_misses(f), 1);
}

TEST("same_input asks nothing, and check_traces verifies") {
  const auto f = jit([](Tensor x, double s) { return x * s; }, {.cache = Cache::same_input});
  expect_near(f(ones({1}), 2.0).to_vector<float>(), {2});
  expect_near(f(ones({1}), 3.0).to_vector<float>(), {2});
  expect_equal(cache_misses(f), 1);
  const auto g =
      jit([](Tensor x, double s) { return x * s; }, {.cache = Cache::same_input, .debug = {.check_traces = true}});
  g(ones({1}), 2.0);
  expect_error([&] { g(ones({1}), 3.0); },
               "Cache::same_input, and this call is unlike the first: n_0: 3.0 instead of 2.0");
}

}  // namespace fulgurite
