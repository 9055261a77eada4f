#include <iostream>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Short programs of every day: each thing that a program holds is printed.

namespace {
template <class T>
std::string text_of(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
}  // namespace

TEST("everyday: tensors print") {
  expect_equal(text_of(tensor({1, 2})), "tensor([1, 2])");
  expect_equal(text_of(tensor({1.5, -2.0})), "tensor([ 1.5000, -2.0000])");
  expect_equal(text_of(tensor({true, false})), "tensor([ True, False])");
  expect_equal(text_of(tensor(2.5)), "tensor(2.5000)");
  expect_text(text_of(arange(4).reshape({2, 2})), R"(
tensor([[0, 1],
        [2, 3]])
)");
  expect_equal(text_of(zeros({0, 3})), "tensor([], size=[0, 3])");
}

TEST("everyday: shapes, dtypes, devices and numbers print") {
  expect_equal(text_of(Shape{2, 3}), "[2, 3]");
  expect_equal(text_of(Dtype::f32), "f32");
  expect_equal(text_of(Device("cpu")), "cpu");
  expect_equal(text_of(zeros({4}).size(0)), "4");
  expect_equal(text_of(zeros({4}).numel() * 2), "8");
}

TEST("everyday: traces print") {
  const Trace recorded = trace([](const Tensor& x) { return exp(x); }, ones({2}));
  expect_different(text_of(recorded.bound_symbols.at(0)).find("exp"), std::string::npos);
  expect_different(recorded.cpp().find("exp("), std::string::npos);
  expect_different(recorded.python().find("torch.exp("), std::string::npos);
}

TEST("everyday: names of parameters with their shapes print") {
  std::ostringstream out;
  for (const auto& [name, parameter] : nn::named_parameters(nn::Linear(2, 3)))
    out << name << " " << parameter.shape() << "\n";
  expect_equal(out.str(), "weight [3, 2]\nbias [3]\n");
}

TEST("everyday: containers of tensors print") {
  const Tensor a = tensor({1, 2}), b = tensor(3);
  expect_equal(text_of(std::vector<Tensor>{a, b}), "[tensor([1, 2]), tensor(3)]");
  expect_equal(text_of(std::tuple(a, b, b)), "(tensor([1, 2]), tensor(3), tensor(3))");
  expect_equal(text_of(std::pair(a, b)), "(tensor([1, 2]), tensor(3))");
  expect_equal(text_of(std::optional<Tensor>(b)), "tensor(3)");
  expect_equal(text_of(std::optional<Tensor>()), "None");
  expect_equal(text_of(std::map<std::string, Tensor>{{"x", a}, {"y", b}}), "{x: tensor([1, 2]), y: tensor(3)}");
  expect_equal(text_of(topk(tensor({1, 5, 3}), 1)), "(tensor([5]), tensor([1]))");
}

TEST("everyday: options, indices and generators print") {
  expect_equal(text_of(TensorOptions{}), "TensorOptions(dtype=f32 (default), device=cpu, requires_grad=false)");
  expect_equal(text_of(TensorOptions{.dtype = Dtype::i64, .requires_grad = true}),
               "TensorOptions(dtype=i64, device=cpu, requires_grad=true)");
  expect_equal(text_of(Slice()), ":");
  expect_equal(text_of(Slice(1, 8, 2)), "1:8:2");
  expect_equal(text_of(Slice(None, None, -1)), "::-1");
  expect_equal(text_of(Index(3)) + text_of(Index(Ellipsis)) + text_of(Index(None)) + text_of(Index({0, 2})),
               "3...None[0, 2]");
  expect_equal(text_of(Index(tensor(1))) + text_of(Index(Slice(2, None))), "tensor(1)2:");
  expect_equal(text_of(Generator(7)), "Generator(seed=7)");
}

TEST("everyday: optimizers, schedules, distributions and results print") {
  optim::SGD optimizer(nn::parameters(nn::Linear(2, 3)), {.lr = 0.5});
  expect_text(text_of(optimizer), R"(
SGD(
  group 0: 2 tensors, 9 elements, learning rate 0.5
)
)");
  optim::StepLR schedule(optimizer, {.step_size = 2});
  schedule.step();
  expect_equal(text_of(schedule), "StepLR(iteration 1, rates 0.5)");
  expect_equal(text_of(distributions::Normal(zeros({2}), 1)), "Normal(batch shape [2], event shape [])");
  expect_equal(text_of(nn::LoadResult{}), "all names match");
  expect_equal(text_of(nn::LoadResult{{"a", "b"}, {"c"}}), "missing: a, b; unexpected: c");
  metrics::ConfusionMatrix matrix(2);
  matrix.update(tensor({0, 1}), tensor({0, 0}));
  expect_text(text_of(matrix), R"(
tensor([[1, 1],
        [0, 0]])
)");
}

TEST("everyday: stages of traces and statistics of calls print") {
  const auto f = jit([](Tensor x) { return x * 2; });
  f(ones({2}));
  const auto stages = last_traces(f);
  expect_equal(text_of(stages).find(text_of(stages[0]) + "\n" + text_of(stages[1])), size_t{0});
  expect_equal(text_of(cache_stats(f)).substr(0, 10), "versions 1");
  expect_equal(text_of(compile_stats(f)).substr(0, 7), "calls 1");
}
