// Views with any sizes and strides, for arguments of a traced function that alias each other.
#include <algorithm>

#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// The indices of prims.as_strided's elements in the flattened input.
Tensor strided_places(std::span<const Int> size, std::span<const Int> stride, Int offset, Device device,
                      SourceLocation at) {
  const TensorOptions integers{.dtype = Dtype::i64, .device = device};
  Tensor places = full({}, offset, integers, at);
  for (size_t d = 0; d < size.size(); ++d) {
    const Tensor numbers = arange(0, size[d], 1, integers, at);
    const Tensor steps = mul(numbers, stride[d], at);
    const Tensor wider = unsqueeze(places, -1, at);
    places = add(wider, steps, 1, at);
  }
  return places;
}

/// Returns true if two elements of such a tensor may alias. (Conservative, as in PyTorch.)
bool overlaps_itself(std::span<const Int> size, std::span<const Int> stride) {
  std::vector<std::pair<Int, Int>> dims;  // stride, size
  for (size_t d = 0; d < size.size(); ++d)
    if (size[d] > 1) dims.emplace_back(stride[d], size[d]);
  std::sort(dims.begin(), dims.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Int reached = 0;
  for (const auto& [step, count] : dims) {
    if (step <= reached) return true;
    reached += step * (count - 1);
  }
  return false;
}

/// Requires prims.as_strided's view to be inside its input.
void check_place(Arguments a) {
  const Tensor& input = a[0].tensor();
  const auto size = a[1].integers(), stride = a[2].integers();
  require(size.size() == stride.size(), "size has ", size.size(), " dimensions and stride ", stride.size());
  Int last = a[3].integer();
  require(last >= 0, "storage_offset is negative: ", last.hint());
  bool is_empty = false;
  for (size_t d = 0; d < size.size(); ++d) {
    require(size[d] >= 0, "a size is negative: ", size[d].hint());
    require(stride[d] >= 0, "a stride is negative: ", stride[d].hint());
    if (size[d] == 0) is_empty = true;
    else last += (size[d] - 1) * stride[d];
  }
  require(is_empty || last < input.numel(), "the view would end at element ", last.hint(), " of ",
          Int(input.numel()).hint());
}

}  // namespace

constinit const Symbol prims_as_strided_symbol{
    .signature = "prims.as_strided(Tensor input, int[] size, int[] stride, int storage_offset=0) -> Tensor",
    .documentation =
        "A view of a contiguous tensor's memory with any sizes and strides, from its element storage_offset on.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          check_place(a);
          const auto size = a[1].integers();
          out.push_back(like(a[0].tensor(), Shape(size.data(), size.size())));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor input = g.tensor(0);
          const Tensor places = strided_places(g.argument(1).integers(), g.argument(2).integers(),
                                               g.argument(3).integer(), input.device(), {});
          const Tensor zeros =
              fulgurite::zeros({Int(input.numel())}, {.dtype = input.dtype(), .device = input.device()});
          const Tensor summed = prims::index_put(zeros, {places}, g.cotangent(), true);
          g.set(0, reshape(summed, input.shape()));
        },
    .view =
        [](Arguments a, ViewGeometry& view) {
          check_place(a);
          const TensorImpl& input = *a[0].tensor().impl();
          if (!input.is_contiguous) return false;
          for (const Int size : a[1].integers()) view.sizes.push_back(static_cast<int64_t>(size));
          for (const Int stride : a[2].integers()) view.strides.push_back(static_cast<int64_t>(stride));
          view.offset = input.offset + static_cast<int64_t>(a[3].integer());
          return true;
        },
    .write =
        [](Arguments a, const Tensor& value, SourceLocation at) {
          const Tensor& input = a[0].tensor();
          require(!overlaps_itself(a[1].integers(), a[2].integers()), overlapping_write);
          const Tensor places = strided_places(a[1].integers(), a[2].integers(), a[3].integer(), input.device(), at);
          const Tensor flat = reshape(input, {-1}, at);
          const Tensor written = prims::index_put(flat, {places}, value, false, at);
          return reshape(written, input.shape(), at);
        },
    .python = "torch.as_strided({0}, {1}, {2}, {3})",
    .traits = {.view = true},
};

SymbolList strided_view_symbols() {
  static constexpr const Symbol* all[] = {&prims_as_strided_symbol};
  return all;
}

}  // namespace fulgurite
