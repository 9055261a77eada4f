#include "autograd/in_place.h"

#include <fulgurite/operators.h>

#include "autograd/eager_node.h"
#include "executors/eager/copy.h"
#include "ops/dispatch.h"

namespace fulgurite {

namespace {

/// Where a view lies in a contiguous tensor.
struct Region {
  Sizes base_sizes, sizes, strides;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;

  Tensor of(const Tensor& base) const {
    const Tensor view = make_view(base.impl()->storage, sizes, strides, base.impl()->offset + offset, dtype);
    view.impl()->base = base.impl();
    view.impl()->base_history = base.impl()->history;
    return view;
  }
};

/// dest.copy_(source): the whole gradient goes to the source.
class CopyNode final : public Node {
 public:
  explicit CopyNode(Edge source) { add_edge(std::move(source)); }
  std::string name() const override { return "CopyBackward"; }
  size_t output_count() const override { return 1; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, bool) override { return gradients; }
};

/// A view made again after a write: the gradient belongs in its region of the base.
class RegionNode final : public Node {
 public:
  RegionNode(Edge base, Region region) : region_(std::move(region)) { add_edge(std::move(base)); }
  std::string name() const override { return "RegionBackward"; }
  size_t output_count() const override { return 1; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, bool) override {
    if (!gradients[0].defined()) return {Tensor()};
    const Tensor whole = make_zeros({Shape(region_.base_sizes.data(), region_.base_sizes.size()), region_.dtype, {}});
    write_eagerly(gradients[0], region_.of(whole), {});
    return {whole};
  }

 private:
  Region region_;
};

/// The base of a view that was written: inside the region the gradient is the source's, elsewhere that of the base
/// before.
class WriteRegionNode final : public Node {
 public:
  WriteRegionNode(Edge base, Edge source, Region region) : region_(std::move(region)) {
    add_edge(std::move(base));
    add_edge(std::move(source));
  }
  std::string name() const override { return "CopySlicesBackward"; }
  size_t output_count() const override { return 1; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, bool create_graph) override {
    if (!gradients[0].defined()) return {Tensor(), Tensor()};
    const Tensor whole = clone(gradients[0]);
    const Tensor part = region_.of(whole);
    if (create_graph && whole.requires_grad())
      set_history(part, std::make_shared<RegionNode>(gradient_edge(whole), region_), 0);
    const Tensor of_source = clone(part);
    const Tensor zeros = make_zeros({Shape(region_.sizes.data(), region_.sizes.size()), region_.dtype, {}});
    write_eagerly(zeros, region_.of(whole), {});
    return {whole, of_source};
  }

 private:
  Region region_;
};

void write_elements(const Tensor& source, const Tensor& destination) {
  copy_elements(source, destination);
  destination.impl()->storage->version.fetch_add(1, std::memory_order_relaxed);
}

// An in-place operator writes a value that may have been computed from what is overwritten.
void write_recorded(const Tensor& source, const Tensor& destination) {
  const std::shared_ptr<Node> maker = node_of(source);
  if (auto* node = dynamic_cast<EagerNode*>(maker.get())) node->keep_elements_of(*destination.impl()->storage);
  write_elements(source, destination);
}

void write_view(const Tensor& source, const Tensor& view) {
  const Tensor base(view.impl()->base);
  check_view_is_current(view);
  require(!(base.requires_grad() && node_of(base) == nullptr),
          "the tensor written is a view of a leaf that requires grad; wrap the write in NoGrad, or write into a copy");
  require(base.impl()->is_contiguous, "the tensor written is a view of ", type_text(base),
          ", which is not contiguous: its gradient cannot be recorded; write into a contiguous tensor");
  const TensorImpl &from = *base.impl(), &to = *view.impl();
  const Region region{from.sizes, to.sizes, to.strides, to.offset - from.offset, to.dtype};
  auto node = std::make_shared<WriteRegionNode>(gradient_edge(base), gradient_edge(source), region);
  write_recorded(source, view);
  set_history(base, node, 0);
  view.impl()->base_history = ++base.impl()->history;
  set_history(view, std::make_shared<RegionNode>(Edge{node, 0}, region), 0);
}

}  // namespace

void write_eagerly(const Tensor& source, const Tensor& destination, SourceLocation) {
  require(source.dtype() == destination.dtype() && same_sizes(source, destination), "the new value is ",
          type_text(source), ", the tensor ", type_text(destination));
  const bool has_history = source.requires_grad() || destination.requires_grad() ||
                           (destination.impl()->base && destination.impl()->base->requires_grad);
  if (!grad_enabled() || !has_history || !is_floating(destination.dtype())) return write_elements(source, destination);
  if (destination.impl()->base) return write_view(source, destination);
  require(!(destination.requires_grad() && node_of(destination) == nullptr),
          "the tensor written is a leaf that requires grad; wrap the write in NoGrad, or write into a copy");
  auto node = std::make_shared<CopyNode>(gradient_edge(source));
  write_recorded(source, destination);
  set_history(destination, std::move(node), 0);
  ++destination.impl()->history;
}

}  // namespace fulgurite
