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
