#include "autograd/eager/in_place.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fulgurite/operators.h>

#include "autograd/compiled/traced_node.h"
#include "autograd/eager/eager_node.h"
#include "ops/core/dispatch.h"
#include "ops/shape/shape_rules.h"
#include "ops/tensor/tensor_values.h"
#include "runtime/copy_elements.h"
#include "tensor/function_view.h"
#include "tensor/overlap.h"
#include "tensor/write_count.h"

namespace fulgurite {

namespace {

/// The layout of a view in a contiguous base.
struct BaseSlice {
  Sizes base_sizes, sizes, strides;
  int64_t offset = 0;
  Dtype dtype = Dtype::f32;

  /// Returns true if an element of the base may be in the view more than once.
  bool may_overlap_itself() const { return fulgurite::may_overlap_itself(sizes, strides); }
  /// Scatters a gradient of the slice into one of the base.
  Tensor sum_up(const Tensor& gradient) const {
    std::vector<int64_t> offsets;
    for_each_offset(sizes, strides, [&](int64_t relative) { offsets.push_back(offset + relative); });
    const Shape whole(base_sizes.data(), base_sizes.size());
    const Tensor zeros = make_zeros({Shape{whole.numel()}, dtype, {}});
    return reshape(index_put(zeros, {tensor(offsets)}, reshape(gradient, {-1}), true), whole);
  }

  /// The slice as a view, with its part of the base's history.
  Tensor of(const Tensor& base) const;

  // The same in operators, for recordings.
  Shape base_shape() const { return Shape(base_sizes.data(), base_sizes.size()); }
  Shape shape() const { return Shape(sizes.data(), sizes.size()); }
  /// The offset in the base of each element of the slice, flattened.
  Tensor offsets() const {
    Tensor out = full({}, offset, {.dtype = Dtype::i64});
    for (size_t d = 0; d < sizes.size(); ++d) {
      const Tensor steps = mul(arange(sizes[d]), strides[d]);
      const Tensor before = unsqueeze(out, -1);
      out = add(before, steps);
    }
    return reshape(out, {-1});
  }
  Tensor recorded_sum_up(const Tensor& gradient) const {
    const Tensor index = offsets();
    const Tensor nothing = zeros({base_shape().numel()}, {.dtype = dtype});
    const Tensor elements = reshape(gradient, {-1});
    return reshape(index_put(nothing, {index}, elements, true), base_shape());
  }
  /// Returns the gradient with the slice zeroed, and the slice's gradient.
  std::pair<Tensor, Tensor> recorded_parts(const Tensor& gradient) const {
    const Tensor index = offsets();
    const Tensor flat = reshape(gradient, {-1});
    const Tensor inside = index_select(flat, 0, index);
    const Tensor outside = index_put(flat, {index}, zeros({}, {.dtype = dtype}));
    const Tensor whole = reshape(outside, base_shape());
    return {whole, only_last_written(reshape(inside, shape()))};
  }
  /// If an element is written several times, the last write wins: the gradients of the others are zero.
  Tensor only_last_written(const Tensor& gradient) const {
    if (!may_overlap_itself()) return gradient;
    const Tensor index = offsets();
    const Tensor numbers = arange(shape().numel());
    const Tensor none = full({base_shape().numel()}, -1, {.dtype = Dtype::i64});
    const Tensor last = scatter_reduce(none, 0, index, numbers, "amax");
    const Tensor kept = eq(index_select(last, 0, index), numbers);
    return where(reshape(kept, shape()), gradient, zeros({}, {.dtype = dtype}));
  }
  void append_to(KeyWords& key) const {
    for (const Sizes* list : {&base_sizes, &sizes, &strides}) {
      key.push_back(list->size());
      for (const int64_t number : *list) key.push_back(static_cast<uint64_t>(number));
    }
    key.push_back(static_cast<uint64_t>(offset));
    key.push_back(static_cast<uint64_t>(dtype));
  }
};

/// dest.copy_(source): the complete gradient goes to the source, and zeros go to the old history, if given.
class CopyNode final : public TracedNode {
 public:
  explicit CopyNode(Edge source, Edge old = {}) : has_old_(old.node != nullptr) {
    add_to_hash(has_old_ ? 4 : 1);
    add_edge(std::move(source));
    if (has_old_) add_edge(std::move(old));
  }
  std::string name() const override { return "CopyBackwards"; }
  size_t output_count() const override { return 1; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun&) override {
    if (has_old_) {
      const Tensor& gradient = gradients[0];
      gradients.push_back(gradient.defined() ? make_zeros({gradient.shape(), gradient.dtype(), {}}) : Tensor());
    }
    return gradients;
  }
  void append_saved(std::vector<Tensor>&, bool) override {}
  std::vector<Tensor> record(std::span<const Tensor>, std::vector<Tensor> gradients, const NodeRun&,
                             std::span<const Int>) override {
    if (has_old_) gradients.push_back(zeros_like(gradients[0]));
    return gradients;
  }
  void append_key(KeyWords& key) const override { key.push_back(has_old_ ? 4 : 1); }
  bool append_structure(KeyWords& words, std::vector<int64_t>&) const override {
    append_key(words);
    return true;
  }

 private:
  bool has_old_;
};

/// A view recreated after a write: its gradient is a slice of the base's.
class SliceNode final : public TracedNode {
 public:
  SliceNode(Edge base, BaseSlice slice) : slice_(std::move(slice)) {
    add_to_hash(2 << 8 | slice_.sizes.size());
    add_edge(std::move(base));
  }
  std::string name() const override { return "AsStridedBackward0"; }
  size_t output_count() const override { return 1; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun&) override {
    if (!gradients[0].defined()) return {Tensor()};
    if (slice_.may_overlap_itself()) return {slice_.sum_up(gradients[0])};
    const Tensor whole = make_zeros({Shape(slice_.base_sizes.data(), slice_.base_sizes.size()), slice_.dtype, {}});
    write_eagerly(gradients[0], slice_.of(whole), {});
    return {whole};
  }
  void append_saved(std::vector<Tensor>&, bool) override {}
  std::vector<Tensor> record(std::span<const Tensor>, std::vector<Tensor> gradients, const NodeRun&,
                             std::span<const Int>) override {
    return {slice_.recorded_sum_up(gradients[0])};
  }
  void append_key(KeyWords& key) const override {
    key.push_back(2);
    slice_.append_to(key);
  }

 private:
  BaseSlice slice_;
};

Tensor BaseSlice::of(const Tensor& base) const {
  Tensor view = make_view(base.impl()->storage, sizes, strides, base.impl()->offset + offset, dtype);
  view.impl()->base = base.impl();
  view.impl()->base_history = base.impl()->history;
  if (grad_enabled() && base.requires_grad())
    set_history(view, std::make_shared<SliceNode>(gradient_edge(base), *this), 0);
  return view;
}

/// The base of a written view: inside the slice the gradient is the source's, elsewhere that of the old base.
class WriteSliceNode final : public TracedNode {
 public:
  WriteSliceNode(Edge base, Edge source, BaseSlice slice) : slice_(std::move(slice)) {
    add_to_hash(3 << 8 | slice_.sizes.size());
    add_edge(std::move(base));
    add_edge(std::move(source));
  }
  std::string name() const override { return "CopySlices"; }
  size_t output_count() const override { return 1; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients, const NodeRun&) override {
    if (!gradients[0].defined()) return {Tensor(), Tensor()};
    const Tensor whole = clone(gradients[0]);
    const Tensor of_source = clone(slice_.of(whole));
    const Tensor zeros = make_zeros({Shape(slice_.sizes.data(), slice_.sizes.size()), slice_.dtype, {}});
    write_eagerly(zeros, slice_.of(whole), {});
    return {whole, slice_.only_last_written(of_source)};
  }
  void append_saved(std::vector<Tensor>&, bool) override {}
  std::vector<Tensor> record(std::span<const Tensor>, std::vector<Tensor> gradients, const NodeRun&,
                             std::span<const Int>) override {
    const auto [whole, of_source] = slice_.recorded_parts(gradients[0]);
    return {whole, of_source};
  }
  void append_key(KeyWords& key) const override {
    key.push_back(3);
    slice_.append_to(key);
  }

 private:
  BaseSlice slice_;
};

void write_elements(const Tensor& source, const Tensor& destination) {
  copy_elements(source, destination);
  count_write(*destination.impl()->storage);
}

// The value that an in-place operator writes may have been computed from the overwritten one.
void write_recorded(const Tensor& source, const Tensor& destination) {
  if (const std::shared_ptr<Node> maker = node_of(source)) maker->keep_elements_of(*destination.impl()->storage);
  write_elements(source, destination);
}

/// Converts strides of a tensor to those of a contiguous tensor of its sizes.
class ContiguousDistances {
 public:
  explicit ContiguousDistances(const TensorImpl& tensor) {
    const Sizes contiguous = contiguous_strides(tensor.sizes);
    for (size_t d = 0; d < tensor.sizes.size(); ++d)
      if (tensor.sizes[d] > 1) dimensions_.push_back({tensor.strides[d], tensor.sizes[d], contiguous[d]});
    std::sort(dimensions_.begin(), dimensions_.end(),
              [](const Dimension& a, const Dimension& b) { return a.stride > b.stride; });
  }
  /// Returns false if no two elements are that far apart.
  bool convert(int64_t& distance) const {
    int64_t left = distance, converted = 0;
    for (const Dimension& dimension : dimensions_) {
      const int64_t steps = std::min(left / dimension.stride, dimension.size - 1);
      left -= steps * dimension.stride;
      converted += steps * dimension.contiguous_stride;
    }
    distance = converted;
    return left == 0;
  }

 private:
  struct Dimension {
    int64_t stride, size, contiguous_stride;
  };
  SmallVector<Dimension, 6> dimensions_;
};

/// The slice of a view in its base, whose gradients are contiguous.
BaseSlice region_of(const Tensor& view, const Tensor& base) {
  const TensorImpl &from = *base.impl(), &to = *view.impl();
  BaseSlice slice{from.sizes, to.sizes, to.strides, to.offset - from.offset, to.dtype};
  if (from.is_contiguous) return slice;
  bool is_found = !may_overlap_itself(from.sizes, from.strides);
  if (is_found) {
    const ContiguousDistances distances(from);
    is_found = distances.convert(slice.offset);
    for (size_t d = 0; d < to.sizes.size(); ++d)
      is_found = is_found && (to.sizes[d] < 2 || distances.convert(slice.strides[d]));
    // A view may step through memory across the dimensions of its base.
    std::vector<int64_t> offsets;
    if (is_found)
      for_each_offset(slice.sizes, slice.strides,
                      [&](int64_t relative) { offsets.push_back(slice.offset + relative); });
    size_t next = 0;
    if (is_found)
      for_each_offset(to.sizes, to.strides, [&](int64_t relative) {
        relative += to.offset - from.offset;
        is_found = distances.convert(relative) && is_found && relative == offsets[next++];
      });
  }
  require(is_found, "the tensor written is a view of ", type_text(base),
          ", which is not contiguous: its gradient cannot be recorded; write into a contiguous tensor");
  return slice;
}

// Rebases the history of a view and its base after a write; `write` writes.
template <class Write>
void write_view(const Tensor& source, const Tensor& view, Write&& write) {
  const Tensor base(view.impl()->base);
  bring_history_up_to_date(view);
  require(!view.impl()->of_custom_function, function_view_written);
  require(!(base.requires_grad() && node_of(base) == nullptr),
          "the tensor written is a view of a leaf that requires grad; wrap the write in NoGrad, or write into a copy");
  require(view.requires_grad() || !base.requires_grad(),
          "the tensor written is a view that was made under NoGrad of a tensor with a history, and gradients are on: "
          "make the view outside of NoGrad, or write under it");
  const BaseSlice slice = region_of(view, base);
  auto node = std::make_shared<WriteSliceNode>(gradient_edge(base), gradient_edge(source), slice);
  write();
  set_history(base, node, 0);
  view.impl()->base_history = ++base.impl()->history;
  set_history(view, std::make_shared<SliceNode>(Edge{node, 0}, slice), 0);
}

}  // namespace

namespace {

template <class Write>
void write_with_history(const Tensor& source, const Tensor& destination, Write&& write) {
  if (destination.impl()->base) return write_view(source, destination, write);
  require(!(destination.requires_grad() && node_of(destination) == nullptr),
          "the tensor written is a leaf that requires grad; wrap the write in NoGrad, or write into a copy");
  // A value with a history may have been computed from the old one; one without would leave the old one no gradient.
  Edge old = source.requires_grad() ? Edge{} : gradient_edge(destination);
  auto node = std::make_shared<CopyNode>(gradient_edge(source), std::move(old));
  write();
  set_history(destination, std::move(node), 0);
  ++destination.impl()->history;
}

}  // namespace

void bring_history_up_to_date(const Tensor& view) {
  TensorImpl& impl = *view.impl();
  if (!impl.base || impl.base->history == impl.base_history) return;
  require(!impl.of_custom_function, function_view_outdated);
  const Tensor base(impl.base);
  set_history(view, std::make_shared<SliceNode>(gradient_edge(base), region_of(view, base)), 0);
  impl.base_history = base.impl()->history;
}

namespace {

// Throws if several values would be written to one element.
void check_overlap(const Tensor& source, const Tensor& destination) {
  const TensorImpl& to = *destination.impl();
  if (to.is_contiguous) return;
  require(!repeats_elements(to.sizes, to.strides), overlapping_write);
  if (may_overlap_itself(to.sizes, to.strides))
    require(agrees_where_it_overlaps(source, destination), overlapping_write);
}

}  // namespace

void write_eagerly(const Tensor& source, const Tensor& destination, SourceLocation) {
  require(source.dtype() == destination.dtype() && same_sizes(source, destination), "the new value is ",
          type_text(source), ", the tensor ", type_text(destination));
  require(!is_inference_tensor(destination) || in_inference_mode(),
          "the tensor written is an inference tensor, and this is outside of InferenceMode; write into a clone");
  check_overlap(source, destination);
  bring_history_up_to_date(source);
  const bool has_history = source.requires_grad() || destination.requires_grad() ||
                           (destination.impl()->base && destination.impl()->base->requires_grad);
  if (!grad_enabled() || !has_history || !is_floating(destination.dtype())) return write_elements(source, destination);
  write_with_history(source, destination, [&] { write_recorded(source, destination); });
}

void take_history(const Tensor& source, const Tensor& destination) {
  write_with_history(source, destination, [] {});
}

}  // namespace fulgurite
