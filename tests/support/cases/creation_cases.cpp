// Operators that make tensors from nothing or from draws.
#include "support/cases/operator_cases.h"

namespace fulgurite::test {

void add_creation_cases(std::vector<OperatorCase>& out) {
  out.push_back({"torch.full", {{2, 3}, 1.5}});
  out.push_back({"torch.full", {{2, 3}, 2}});
  out.push_back({"torch.full", {{}, true}});
  out.push_back({"torch.full", {{2}, 1}, {{"dtype", Dtype::f32}}});
  out.push_back(OperatorCase("torch.empty", {{2, 3}}).without_pytorch());
  out.push_back(OperatorCase("torch.empty_like", {constants({2, 3})}).without_pytorch());
  for (const char* op : {"torch.zeros", "torch.ones"}) {
    out.push_back({op, {{2, 0, 3}}});
    out.push_back({op, {{4}}, {{"dtype", Dtype::i64}}});
  }
  out.push_back({"torch.full_like", {constants({2, 3}), 3}});
  for (const char* op : {"torch.zeros_like", "torch.ones_like"}) {
    out.push_back({op, {constants({2, 3})}});
    out.push_back({op, {constants({3})}, {{"dtype", Dtype::boolean}}});
  }
  out.push_back({"torch.arange", {5}});
  out.push_back({"torch.arange", {2, 11, 3}});
  out.push_back({"torch.arange", {0.5, 2.0, 0.25}});
  out.push_back({"torch.arange", {4}, {{"dtype", Dtype::f32}}});
  out.push_back({"torch.linspace", {-1, 1.5, 7}});
  out.push_back({"torch.linspace", {3, 4, 1}});
  out.push_back({"torch.eye", {3}});
  out.push_back({"torch.eye", {2, 4}, {{"dtype", Dtype::i64}}});
  out.push_back({"prims.integer_tensor", {{3, -1, 4}}});

  const auto state = [] { return integers({2}, {11, 40}); };
  out.push_back({"prims.random_state", {5}});
  out.push_back({"prims.uniform", {state(), {3, 5}, -1.0, 2.5, Dtype::f32}});
  out.push_back({"prims.normal", {state(), {3, 5}, 0.5, 2.0, Dtype::f32}});
  out.push_back({"prims.random_integers", {state(), {3, 5}, -3, 9, Dtype::i64}});
  out.push_back({"torch.rand", {{3, 5}}});
  out.push_back({"torch.rand", {{7}}, {{"dtype", Dtype::f64}}});
  out.push_back({"torch.randn", {{3, 5}}});
  out.push_back({"torch.randn", {{7}}, {{"dtype", Dtype::f64}}});
  out.push_back({"torch.randint", {2, 90, {3, 5}}});
  out.push_back({"torch.rand_like", {constants({2, 3})}});
  out.push_back({"torch.randn_like", {constants({2, 3})}});
}

}  // namespace fulgurite::test
