// Order and selection, running results, classes and places, windows, sums of products by name, and what scatters bring
// together.
#include <cmath>

#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

/// Numbers far enough apart that a small step changes no order.
Tensor apart(std::vector<int64_t> sizes, double scale = 1) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(scale * (static_cast<double>(i * 7 % count) - static_cast<double>(count) / 2 + 0.25));
  return tensor(numbers).reshape(Shape(sizes)).requires_grad_();
}

Tensor leaf(std::vector<double> numbers) { return tensor(numbers).requires_grad_(); }

void add_order_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return apart({3, 5}, 0.3); };
  out.push_back({"torch.sort", {x()}});
  out.push_back({"torch.sort", {x(), 0, true}});
  out.push_back({"torch.sort", {apart({2, 3, 4}), 1}, {{"stable", true}}});
  out.push_back({"torch.sort", {floats({})}});
  out.push_back({"torch.sort", {integers({2, 4}, {3, 1, 3, 0, 2, 2, 2, 1}), -1, true}, {{"stable", true}}});
  out.push_back({"torch.argsort", {x(), 0}});
  out.push_back({"torch.argsort", {x(), -1, true}, {{"stable", true}}});
  out.push_back({"torch.msort", {x()}});
  out.push_back({"torch.topk", {x(), 2}});
  out.push_back({"torch.topk", {x(), 2, 0, false}});
  out.push_back({"torch.topk", {apart({2, 5, 3}), 3, 1, true, true}});
  out.push_back({"torch.topk", {floats({}), 1}});
  out.push_back({"torch.kthvalue", {x(), 2}});
  out.push_back({"torch.kthvalue", {x(), 3, 0, true}});
  out.push_back({"torch.kthvalue", {floats({}), 1}});
  out.push_back({"torch.median", {x()}});
  out.push_back({"torch.median", {apart({4}, 0.5)}});
  out.push_back({"torch.nanmedian", {x()}});
  for (const char* op : {"prims.median_with_indices", "prims.nanmedian_with_indices"}) {
    out.push_back({op, {x(), 1}});
    out.push_back({op, {x(), 0, true}});
    out.push_back({op, {floats({}), 0}});
  }
}

void add_running_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return floats({3, 4}, 0.5, 2); };
  out.push_back({"torch.cumprod", {x(), 0}});
  out.push_back({"torch.cumprod", {x(), 1}});
  out.push_back({"torch.cumprod", {floats({2, 3, 2}), -2}});
  out.push_back({"torch.cumprod", {leaf({2, 0, 3, 0, -1}), 0}});
  out.push_back({"torch.cumprod", {floats({}), 0}});
  out.push_back({"torch.cumprod", {floats({1}), 0}});
  out.push_back({"torch.cumprod", {integers({3}, {2, -3, 4}), 0}, {{"dtype", Dtype::f64}}});
  out.push_back({"torch.logcumsumexp", {floats({3, 4}), 0}});
  out.push_back({"torch.logcumsumexp", {floats({2, 5, 2}), 1}});
  out.push_back({"torch.logcumsumexp", {floats({}), 0}});
  for (const char* op : {"torch.cummax", "torch.cummin"}) {
    out.push_back({op, {apart({3, 5}, 0.3), 1}});
    out.push_back({op, {apart({4, 3}, 0.3), 0}});
    out.push_back({op, {floats({}), 0}});
  }
  for (const bool reverse : {false, true}) {
    out.push_back({"prims.linear_recurrence", {floats({2, 5}), floats({2, 5}), 1, reverse}});
    out.push_back({"prims.linear_recurrence", {floats({4, 2}), floats({4, 2}), 0, reverse}});
  }
}

void add_class_and_place_cases(std::vector<OperatorCase>& out) {
  const auto sequence = [] { return tensor(std::vector<double>{-1.5, -0.5, 0.25, 1}); };
  out.push_back({"torch.searchsorted", {sequence(), constants({2, 3})}});
  out.push_back({"torch.searchsorted", {sequence(), constants({3})}, {{"right", true}, {"out_int32", true}}});
  out.push_back({"torch.searchsorted",
                 {integers({2, 3}, {1, 3, 5, 2, 4, 6}), integers({2, 2}, {3, 6, 2, 5})},
                 {{"side", "right"}}});
  out.push_back({"torch.searchsorted",
                 {integers({3}, {5, 1, 3}), integers({3}, {1, 3, 4})},
                 {{"sorter", integers({3}, {1, 2, 0})}}});
  out.push_back({"torch.bucketize", {constants({2, 3}), sequence()}});
  out.push_back({"torch.bucketize", {integers({3}, {1, 3, 4}), integers({3}, {1, 3, 5})}, {{"right", true}}});
  out.push_back({"torch.nn.functional.one_hot", {integers({2, 2}, {0, 2, 3, 1}), 4}});
  out.push_back({"prims.one_hot", {integers({}, {1}), 3}});
}

void add_sliding_cases(std::vector<OperatorCase>& out) {
  out.push_back({"torch.Tensor.unfold", {floats({3, 6}), 1, 3, 1}});
  out.push_back({"torch.Tensor.unfold", {floats({5, 2}), 0, 2, 2}});
  out.push_back({"torch.Tensor.unfold", {floats({2, 7, 2}), -2, 2, 3}});
  out.push_back({"torch.Tensor.unfold", {floats({}), 0, 1, 1}});
  out.push_back({"torch.nn.functional.local_response_norm", {floats({2, 5, 3}), 3}, {{"alpha", 0.7}, {"k", 1.5}}});
  out.push_back({"torch.nn.functional.local_response_norm", {floats({1, 4, 2, 2}), 2, 0.5, 0.6, 2}});
  out.push_back({"torch.nn.functional.softmin", {floats({2, 3}), 1}});
  out.push_back({"torch.nn.functional.softmin", {floats({3}), 0}, {{"dtype", Dtype::f64}}});
}

void add_einsum_cases(std::vector<OperatorCase>& out) {
  const auto einsum = [&](const char* equation, std::vector<Tensor> operands) {
    std::vector<Value> list(operands.begin(), operands.end());
    out.push_back({"torch.einsum", {equation, Value(std::move(list))}});
  };
  einsum("ij->ji", {floats({2, 3})});
  einsum("ij", {floats({2, 3})});
  einsum("ba", {floats({2, 3})});
  einsum("i->", {floats({3})});
  einsum("ijk->j", {floats({2, 3, 2})});
  einsum("ii->i", {floats({3, 3})});
  einsum("ii", {floats({3, 3})});
  einsum("iji->j", {floats({2, 3, 2})});
  einsum("iii->i", {floats({2, 2, 2})});
  einsum("ij,jk->ik", {floats({2, 3}), floats({3, 4})});
  einsum("ij,kj", {floats({2, 3}), floats({4, 3})});
  einsum("i,i->", {floats({3}), floats({3})});
  einsum("i,j->ij", {floats({2}), floats({3})});
  einsum("i,j->ji", {floats({2}), floats({3})});
  einsum("ij,j->i", {floats({2, 3}), floats({3})});
  einsum("j,ij->i", {floats({3}), floats({2, 3})});
  einsum("bij,bjk->bik", {floats({2, 2, 3}), floats({2, 3, 2})});
  einsum("bi,bi->b", {floats({2, 3}), floats({2, 3})});
  einsum("bhqd,bhkd->bhqk", {floats({2, 2, 3, 2}), floats({2, 2, 2, 2})});
  einsum("...ij,...jk->...ik", {floats({2, 1, 2, 3}), floats({3, 3, 2})});
  einsum("...ik, ...j -> ij", {floats({1, 2, 3}), floats({3})});
  einsum("i...j->...", {floats({2, 3, 2})});
  einsum("ij,jk->ik", {floats({2, 1}), floats({3, 2})});
  einsum("ijk,ik->ij", {floats({2, 3, 2}), floats({1, 2})});
  einsum("ijj,jk->ik", {floats({2, 3, 3}), floats({3, 2})});
  einsum("ab,bc,cd->ad", {floats({4, 2}), floats({2, 3}), floats({3, 2})});
  einsum("abc,cd,bd,e->ae", {floats({2, 2, 3}), floats({3, 2}), floats({2, 2}), floats({2})});
  einsum(",ij,->j", {floats({}), floats({2, 3}), floats({})});
  out.push_back({"torch.tensordot", {floats({2, 3, 2}), floats({3, 2, 4})}});
  out.push_back({"torch.tensordot", {floats({2, 3}), floats({3, 2})}, {{"dims", 1}}});
  out.push_back({"torch.tensordot", {floats({2, 2}), floats({3}), 0}});
  out.push_back({"torch.tensordot", {floats({2, 3, 4}), floats({4, 5, 2}), {0, -1}, {2, 0}}});
  out.push_back({"torch.tensordot", {floats({1, 2, 1}), floats({2, 2, 1}), {0, 1}, {1, 0}}});
}

void add_scatter_reduce_cases(std::vector<OperatorCase>& out) {
  const auto index = [] { return integers({2, 4}, {0, 2, 0, 1, 1, 1, 2, 1}); };
  for (const char* reduce : {"sum", "prod", "mean", "amax", "amin"})
    for (const bool include_self : {true, false}) {
      const OperatorCase::Keywords keywords{{"include_self", include_self}};
      out.push_back({"torch.scatter_reduce", {floats({2, 3}), 1, index(), floats({2, 4}), reduce}, keywords});
      out.push_back(OperatorCase("torch.scatter_reduce",
                                 {floats({3, 3}), 0, integers({2, 2}, {0, 2, 2, 2}), floats({3, 3}), reduce}, keywords)
                        .without_pytorch());
    }
  const auto product = [&](std::vector<double> x, std::vector<double> source) {
    out.push_back({"torch.scatter_reduce",
                   {leaf(std::move(x)), 0, integers({4}, {0, 0, 2, 0}), leaf(std::move(source)), "prod"}});
  };
  product({2, 3, 4}, {0, 3, 0, -2});
  product({0, 0, 4}, {1.5, 3, 2, -2});
  product({2, 3, 4}, {0, 0, 1, 0});
}

}  // namespace

void add_ordering_cases(std::vector<OperatorCase>& out) {
  add_order_cases(out);
  add_running_cases(out);
  add_class_and_place_cases(out);
  add_sliding_cases(out);
  add_einsum_cases(out);
  add_scatter_reduce_cases(out);

  // Equal elements, and such as are not numbers.
  const auto at = [&](const char* op, std::vector<Arg> args, std::vector<std::vector<double>> gradients,
                      OperatorCase::Keywords kwargs = {}) {
    out.push_back(OperatorCase(op, std::move(args), std::move(kwargs)).with_gradients(std::move(gradients)));
  };
  const double half = 0.5;
  at("torch.median", {leaf({1, 3, 3})}, {{0, half, half}});
  at("torch.median", {leaf({1, NAN, 2, NAN})}, {{0, half, 0, half}});
  at("torch.nanmedian", {leaf({1, NAN, 2, NAN})}, {{1, 0, 0, 0}});
  at("torch.cummax", {leaf({1, 1, 0, 1}), 0}, {{1, 2, 0, 1}});
  at("torch.cummin", {leaf({1, 1, 2, 1}), 0}, {{1, 2, 0, 1}});
  at("torch.topk", {leaf({3, 1, 3, 3}), 2}, {{0, 0, 1, 1}});
  at("torch.scatter_reduce", {leaf({3, 1}), 0, integers({3}, {0, 0, 0}), leaf({3, 2, 3}), "amax"},
     {{1.0 / 3, 1}, {1.0 / 3, 0, 1.0 / 3}});
  at("torch.scatter_reduce", {leaf({1, 1}), 0, integers({3}, {0, 0, 0}), leaf({1, 2, 3}), "amin"},
     {{half, 1}, {half, 0, 0}});
  at("torch.logcumsumexp", {leaf({1, -HUGE_VAL, 2}), 0}, {{1 + 1 + 1 / (1 + std::exp(1)), 0, 1 / (1 + std::exp(-1))}});
}

}  // namespace fulgurite::test
