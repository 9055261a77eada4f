// Reading and writing by index.
#include "support/cases/operator_cases.h"

namespace fulgurite::test {

void add_indexing_cases(std::vector<OperatorCase>& out) {
  const auto x = [] { return floats({3, 4}); };
  out.push_back({"torch.index_select", {x(), 1, integers({3}, {3, 0, 3})}});
  out.push_back({"torch.index_select", {x(), 0, integers({0}, {})}});
  out.push_back({"torch.gather", {x(), 1, integers({3, 2}, {0, 3, 1, 1, 2, 0})}});
  out.push_back({"torch.gather", {x(), 0, integers({2, 3}, {2, 0, 2, 1, 1, 2})}});
  out.push_back({"torch.scatter", {x(), 1, integers({2, 2}, {0, 3, 2, 1}), floats({2, 2})}});
  out.push_back({"torch.scatter", {x(), 0, integers({1, 4}, {0, 2, 1, 1}), 1.5}});
  // PyTorch differentiates neither the product nor, with respect to the source, the sum.
  for (const char* reduce : {"add", "multiply"}) {
    out.push_back(
        OperatorCase("prims.scatter_with_reduce", {x(), 1, integers({2, 2}, {0, 0, 2, 1}), floats({2, 2}), reduce})
            .without_pytorch());
    out.push_back({"prims.scatter_with_reduce",
                   {constants({3, 4}), 1, integers({2, 2}, {0, 0, 2, 1}), constants({2, 2}), reduce}});
    out.push_back({"prims.scatter_with_reduce", {constants({3, 4}), 0, integers({1, 4}, {0, 2, 1, 1}), 1.5, reduce}});
  }
  out.push_back({"torch.scatter_add", {x(), 1, integers({2, 3}, {0, 3, 0, 1, 1, 1}), floats({2, 3})}});
  // Only elements of the source with an index are read. PyTorch has no gradient for such a source.
  out.push_back(
      OperatorCase("torch.scatter", {x(), 1, integers({2, 2}, {0, 3, 2, 1}), floats({3, 3})}).without_pytorch());
  out.push_back(
      OperatorCase("torch.scatter_add", {x(), 0, integers({2, 2}, {0, 2, 2, 2}), floats({2, 4})}).without_pytorch());
  out.push_back({"torch.gather", {floats({}), 0, integers({}, {0})}});
  out.push_back({"torch.index_select", {floats({}), 0, integers({1}, {0})}});
  out.push_back({"torch.index_select", {x(), -1, integers({}, {2})}});
  const auto rows = [] { return integers({3}, {2, 0, 2}); };
  out.push_back({"prims.index", {x(), {rows()}}});
  out.push_back({"prims.index", {x(), {rows(), integers({2, 1}, {1, 3})}}});
  out.push_back({"prims.index", {floats({3, 2, 4}), {rows(), None, integers({3}, {1, 3, 3})}}});
  out.push_back(
      {"prims.index_put", {floats({3, 2, 4}), {rows(), None, integers({3}, {1, 3, 1})}, floats({3, 2}), true}});
  out.push_back({"prims.index_put", {x(), {integers({2}, {2, 0})}, floats({2, 4})}});
  out.push_back({"prims.index_put", {x(), {rows()}, floats({3, 4}), true}});
  out.push_back({"torch.index_put", {x(), {integers({2}, {2, 0})}, floats({4})}});
  out.push_back({"torch.index_put", {x(), {rows(), integers({3}, {1, 1, 1})}, floats({3}), true}});
  out.push_back({"torch.index_put", {x(), {booleans({3})}, floats({4})}});

  const auto item = [&](std::vector<Arg> indices) {
    std::vector<Value> list;
    for (const Arg& index : indices) list.push_back(index.value);
    out.push_back({"torch.Tensor.__getitem__", {floats({3, 4, 2}), Value(std::move(list))}});
  };
  item({1});
  item({-1, 2, 0});
  item({Slice(1, {}), Slice({}, -1)});
  item({Slice({}, {}, 2), None, Ellipsis, 1});
  item({Ellipsis});
  item({rows()});
  item({Slice(), integers({2, 2}, {3, 0, 1, 3})});
  item({rows(), Slice(1, 3), 1});
}

}  // namespace fulgurite::test
