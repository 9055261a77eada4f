// Views, reshaping, joining and padding.
#include "support/cases/operator_cases.h"

namespace fulgurite::test {

namespace {

void add_view_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return floats({2, 3, 4}); };
  out.push_back({"torch.reshape", {x(), {6, -1}}});
  out.push_back({"torch.reshape", {x(), {4, 3, 2}}});
  out.push_back({"torch.reshape", {floats({}), {1, 1}}});
  out.push_back({"torch.reshape", {floats({0, 3}), {3, 0}}});
  out.push_back(OperatorCase("torch.Tensor.view", {x(), {6, -1}}).contiguous());
  out.push_back(OperatorCase("torch.Tensor.view_as", {x(), constants({8, 3})}).contiguous());
  out.push_back({"torch.Tensor.reshape_as", {x(), constants({8, 3})}});
  out.push_back({"torch.flatten", {x()}});
  out.push_back({"torch.flatten", {x(), 1}});
  out.push_back({"torch.flatten", {floats({})}});
  out.push_back({"torch.unflatten", {x(), 2, {2, -1}}});
  out.push_back({"torch.permute", {x(), {2, 0, 1}}});
  out.push_back({"torch.permute", {x(), {0, -1, 1}}});
  out.push_back({"torch.transpose", {x(), 0, -1}});
  out.push_back({"torch.t", {floats({2, 3})}});
  out.push_back({"torch.t", {floats({3})}});
  out.push_back({"torch.movedim", {x(), 0, 2}});
  out.push_back({"torch.movedim", {x(), {0, 1}, {-1, 0}}});
  out.push_back({"torch.Tensor.expand", {floats({2, 1, 3}), {5, 2, 4, -1}}});
  out.push_back({"torch.Tensor.expand", {floats({}), {2, 3}}});
  out.push_back({"torch.Tensor.expand_as", {floats({3, 1}), constants({2, 3, 2})}});
  out.push_back({"torch.broadcast_to", {floats({3}), {2, 3}}});
  out.push_back({"torch.squeeze", {floats({1, 3, 1})}});
  out.push_back({"torch.squeeze", {floats({1, 3, 1}), 0}});
  out.push_back({"torch.squeeze", {floats({1, 3, 1}), {0, 1, -1}}});
  out.push_back({"torch.unsqueeze", {x(), 1}});
  out.push_back({"torch.unsqueeze", {floats({}), -1}});
  out.push_back({"torch.select", {x(), 1, -1}});
  out.push_back({"torch.select", {floats({3}), 0, 1}});
  out.push_back({"torch.narrow", {x(), 2, 1, 2}});
  out.push_back({"prims.slice", {x(), 2, 1, 4, 2}});
  out.push_back({"prims.slice", {x(), 1, -2, None}});
  out.push_back(OperatorCase("prims.as_strided", {floats({4, 3}), {2, 3}, {5, 1}, 1}).contiguous());
  out.push_back(OperatorCase("prims.as_strided", {floats({4, 3}), {2, 2, 2}, {2, 2, 3}, 0}).contiguous());
  out.push_back(OperatorCase("prims.with_history", {constants({2, 3}), floats({2, 3})})
                    .with_gradients({{1, 1, 1, 1, 1, 1}})
                    .without_pytorch());
  out.push_back(OperatorCase("prims.as_strided", {floats({5}), Shape(), Shape(), 3}).contiguous());
  out.push_back({"prims.slice", {floats({2, 7}), 1, 1, 6, 3}});
  out.push_back({"prims.slice", {floats({8, 2}), 0, 0, 7, 3}});
  out.push_back({"torch.split", {x(), 3, 2}});
  out.push_back({"torch.split", {x(), {1, 2}, 1}});
  out.push_back({"torch.split_with_sizes", {x(), {1, 3}, -1}});
  out.push_back({"torch.chunk", {x(), 3, 2}});
  out.push_back({"torch.chunk", {floats({5}), 2}});
  out.push_back({"torch.unbind", {x(), 1}});
  out.push_back({"torch.detach", {constants({2, 3})}});
  out.push_back({"torch.Tensor.contiguous", {x()}});
  out.push_back({"torch.clone", {x()}});
}

}  // namespace

void add_shape_cases(std::vector<OperatorCase>& out) {
  add_view_cases(out);
  const auto x = [] { return floats({2, 3}); };
  out.push_back({"torch.tril", {floats({3, 4})}});
  out.push_back({"torch.tril", {floats({2, 3, 3}), -1}});
  out.push_back({"torch.triu", {floats({3, 4}), 1}});
  out.push_back({"torch.triu", {floats({2, 3, 3})}});
  out.push_back({"torch.flip", {floats({2, 3, 2}), {0, -1}}});
  out.push_back({"torch.flip", {x(), 1}});
  out.push_back({"torch.cat", {{x(), floats({4, 3}), floats({0, 3})}}});
  out.push_back({"torch.cat", {{x(), floats({2, 1})}, -1}});
  out.push_back({"torch.stack", {{x(), x()}, 1}});
  out.push_back({"torch.stack", {{floats({}), floats({})}}});
  out.push_back({"prims.pad", {x(), {1, 0}, {0, 2}, 0.5}});
  out.push_back({"torch.nn.functional.pad", {x(), {1, 2}}});
  out.push_back({"torch.nn.functional.pad", {x(), {1, -1, 0, 2}}, {{"value", 1.5}}});
  for (const char* mode : {"reflect", "replicate", "circular"})
    out.push_back({"torch.nn.functional.pad", {floats({2, 3, 4}), {2, 1}, mode}});
  out.push_back({"torch.constant_pad_nd", {x(), {1, 2, 1, 0}, 2.5}});
}

}  // namespace fulgurite::test
