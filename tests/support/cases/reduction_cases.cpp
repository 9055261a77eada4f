// Reductions and scans.
#include <cmath>

#include "support/cases/operator_cases.h"

namespace fulgurite::test {

void add_reduction_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return floats({2, 3, 2}); };
  for (const char* op : {"torch.sum", "torch.mean"}) {
    out.push_back({op, {x()}});
    out.push_back({op, {x(), 1}});
    out.push_back({op, {x(), {0, -1}, true}});
    out.push_back({op, {floats({})}});
    out.push_back({op, {floats({2, 3}), {}, true}});
  }
  out.push_back({"torch.sum", {floats({0, 3}), 0}});
  out.push_back({"torch.sum", {booleans({2, 3}), 1}});
  out.push_back({"torch.sum", {x(), 1}, {{"dtype", Dtype::f64}}});
  out.push_back({"torch.cumsum", {x(), 1}});
  out.push_back({"torch.cumsum", {x(), -1}});
  out.push_back({"torch.cumsum", {floats({}), 0}});
  out.push_back({"torch.prod", {x()}});
  out.push_back({"torch.prod", {x(), 1}});
  out.push_back({"torch.prod", {x(), 2, true}});
  out.push_back(
      {"torch.prod", {tensor(std::vector<double>{0, 2, 3, 0.5, 0, 0, 4, 1, 2}).reshape({3, 3}).requires_grad_(), 1}});
  for (const char* op : {"torch.amax", "torch.amin"}) {
    out.push_back({op, {x()}});
    out.push_back({op, {x(), 1}});
    out.push_back({op, {x(), {0, 2}, true}});
  }
  for (const char* op : {"torch.max", "torch.min"}) {
    out.push_back({op, {x()}});
    out.push_back({op, {floats({})}});
  }
  for (const char* op : {"prims.max_with_indices", "prims.min_with_indices"}) {
    out.push_back({op, {x(), 1}});
    out.push_back({op, {x(), -1, true}});
  }
  for (const char* op : {"torch.argmax", "torch.argmin"}) {
    out.push_back({op, {x()}});
    out.push_back({op, {x(), 1, true}});
  }
  for (const char* op : {"torch.all", "torch.any"}) {
    out.push_back({op, {booleans({2, 3})}});
    out.push_back({op, {booleans({2, 3}), 1}});
    out.push_back({op, {integers({2, 2}, {0, 0, 1, 2}), 0, true}});
  }
  for (const char* op : {"torch.var", "torch.std", "torch.var_mean", "torch.std_mean"}) {
    out.push_back({op, {x()}});
    out.push_back({op, {x(), 1}, {{"correction", 0}}});
    out.push_back({op, {x(), {0, 1}}, {{"keepdim", true}}});
    out.push_back({op, {x(), 2}, {{"correction", 0.5}}});
  }
  out.push_back({"torch.logsumexp", {x(), 1}});
  out.push_back({"torch.logsumexp", {x(), {0, 2}, true}});
  for (const double order : {0.0, 1.0, 2.0, 3.0, 2.5, HUGE_VAL, -HUGE_VAL}) {
    out.push_back({"torch.linalg.vector_norm", {x(), order}});
    out.push_back({"torch.linalg.vector_norm", {x(), order, 1, true}});
  }
}

}  // namespace fulgurite::test
