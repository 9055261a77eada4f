// Operators that repeat, shift or regroup elements.
#include <algorithm>

#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// Repeats each dimension; `repeats` may have more dimensions than the tensor.
Tensor repeated(const Tensor& x, std::span<const Int> repeats, SourceLocation at) {
  const size_t added = repeats.size() - x.shape().size();
  Shape apart, wide, joined;
  for (size_t d = 0; d < repeats.size(); ++d) {
    require(repeats[d] >= 0, "a number of repeats is negative: ", Shape(repeats.data(), repeats.size()));
    const Int size = d < added ? Int(1) : x.size(static_cast<int>(d - added));
    apart.push_back(1);
    apart.push_back(size);
    wide.push_back(repeats[d]);
    wide.push_back(size);
    joined.push_back(repeats[d] * size);
  }
  const Tensor spread = reshape(x, apart, at);
  const Tensor expanded = expand(spread, wide, at);
  // Never a view of x, for any strides: a write into the result must not change x.
  const Tensor copied = clone(expanded, at);
  return reshape(copied, joined, at);
}

Tensor at_least(Tensor x, int64_t ndim, SourceLocation at) {
  if (x.ndim() == 0) x = reshape(x, {1}, at);
  if (ndim == 2 && x.ndim() == 1) x = unsqueeze(x, 0, at);
  return x;
}

/// The elements moved up by `shift` along a dimension, those that leave coming back at the start; the tensor itself
/// where none moves.
Tensor rolled(const Tensor& x, Int shift, int64_t dim, SourceLocation at) {
  const Int size = x.size(static_cast<int>(dim));
  if (size == 0) return x;
  const Int rest = ((shift % size) + size) % size;
  if (rest == 0) return x;
  const Tensor last = narrow(x, dim, size - rest, rest, at);
  const Tensor first = narrow(x, dim, 0, size - rest, at);
  return cat({last, first}, dim, at);
}

}  // namespace

constinit const Symbol repeat_symbol{
    .signature = "torch.Tensor.repeat(Tensor input, int[] repeats) -> Tensor",
    .documentation = "The tensor laid out repeats times along each dimension.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const auto repeats = a[1].integers();
          require(static_cast<int64_t>(repeats.size()) >= a[0].tensor().ndim(), "repeats has ", repeats.size(),
                  " numbers for a tensor of ", a[0].tensor().ndim(), " dimensions");
          out.push_back(repeated(a[0].tensor(), repeats, at));
        },
};

constinit const Symbol tile_symbol{
    .signature = "torch.tile(Tensor input, int[] dims) -> Tensor",
    .documentation = "repeat() with ones in front of dims where it has fewer numbers than the tensor dimensions.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const auto given = a[1].integers();
          Shape repeats;
          for (size_t d = given.size(); d < a[0].tensor().shape().size(); ++d) repeats.push_back(1);
          for (const Int n : given) repeats.push_back(n);
          out.push_back(repeated(a[0].tensor(), {repeats.begin(), repeats.size()}, at));
        },
};

constinit const Symbol repeat_interleave_symbol{
    .signature =
        "torch.repeat_interleave(Tensor input, Operand repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    .documentation =
        "Each element along dim (of the flattened tensor without one) repeated, repeats times or as often as its entry "
        "in the tensor repeats says. Inside a trace a tensor needs output_size, its sum.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          Tensor x = a[0].tensor();
          if (a[2].is_none()) x = reshape(x, {-1}, at);
          else x = at_least(x, 1, at);
          const int64_t dim = a[2].is_none() ? 0 : normalize_dim(a[2].integer(), x.ndim());
          const Int size = x.size(static_cast<int>(dim));
          if (!a[1].is_tensor()) {
            const Int count = a[1].integer();
            require(count >= 0, "repeats must not be negative: ", count.hint());
            Shape wide = x.shape(), joined = x.shape();
            wide.insert(dim + 1, count);
            joined[dim] = size * count;
            const Tensor apart = unsqueeze(x, dim + 1, at);
            const Tensor expanded = expand(apart, wide, at);
            const Tensor copied = clone(expanded, at);
            return out.push_back(reshape(copied, joined, at));
          }
          Tensor repeats = at_least(a[1].tensor(), 1, at);
          require(repeats.ndim() == 1, "repeats must have at most 1 dimension, got shape ", repeats.shape());
          require(is_integer(repeats.dtype()), "repeats must be integers, not ", repeats.dtype());
          if (repeats.size(0) == 1) repeats = expand(repeats, {size}, at);
          require(repeats.size(0) == size, "repeats has ", repeats.size(0).hint(), " entries, dimension ", dim, " has ",
                  size.hint());
          const Tensor ends = cumsum(repeats, 0, {}, at);
          Int total;
          if (!a[3].is_none()) {
            total = a[3].integer();
          } else {
            if (size > 0) {
              const Tensor least = amin(repeats, {}, false, at);
              const auto fewest = least.item<int64_t>(at);
              require(fewest >= 0, "repeats must not be negative: ", fewest);
            }
            const Tensor sum_of = sum(repeats, {}, false, {}, at);
            total = sum_of.item<int64_t>(at);
          }
          // The source index of each result: the number of entries that end before it.
          const Tensor positions = arange(total, {.dtype = ends.dtype()}, at);
          const Tensor column = unsqueeze(positions, 1, at);
          const Tensor row = unsqueeze(ends, 0, at);
          const Tensor is_over = ge(column, row, at);
          const Tensor places = sum(is_over, Dims(1), false, {}, at);
          out.push_back(index_select(x, dim, places, at));
        },
};

constinit const Symbol roll_symbol{
    .signature = "torch.roll(Tensor input, int[] shifts, int[]? dims=None) -> Tensor",
    .documentation = "The elements shifted along dimensions, those that leave coming back at the other end.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const auto shifts = a[1].integers();
          if (a[2].is_none() || a[2].integers().empty()) {
            require(shifts.size() == 1, "without dims there must be one shift, got ", shifts.size());
            const Tensor flat = reshape(x, {-1}, at);
            const Tensor moved = rolled(flat, shifts[0], 0, at);
            return out.push_back(moved.is_same(flat) ? clone(x, at) : reshape(moved, x.shape(), at));
          }
          const auto dims = a[2].integers();
          require(shifts.size() == dims.size(), "shifts has ", shifts.size(), " numbers and dims ", dims.size());
          Tensor result = x;
          for (size_t i = 0; i < dims.size(); ++i)
            result = rolled(result, shifts[i], normalize_dim(dims[i], x.ndim()), at);
          out.push_back(result.is_same(x) ? clone(x, at) : result);
        },
};

constinit const Symbol hstack_symbol{
    .signature = "torch.hstack(Tensor[] tensors) -> Tensor",
    .documentation = "Tensors side by side: joined along dimension 1, along 0 where they have only one.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          std::vector<Tensor> parts;
          for (const Tensor& x : a[0].tensors()) parts.push_back(at_least(x, 1, at));
          require(!parts.empty(), "expected at least one tensor");
          out.push_back(cat(parts, parts[0].ndim() == 1 ? 0 : 1, at));
        },
};

constinit const Symbol vstack_symbol{
    .signature = "torch.vstack(Tensor[] tensors) -> Tensor",
    .documentation = "Tensors below one another: joined along dimension 0, of rows where they have one dimension.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          std::vector<Tensor> parts;
          for (const Tensor& x : a[0].tensors()) parts.push_back(at_least(x, 2, at));
          require(!parts.empty(), "expected at least one tensor");
          out.push_back(cat(parts, 0, at));
        },
};

constinit const Symbol meshgrid_symbol{
    .signature = "torch.meshgrid(Tensor[] tensors, *, str? indexing=None) -> Tensor[]",
    .documentation =
        "The grids of the elements of one-dimensional tensors; indexing \"xy\" swaps the first two dimensions.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const auto tensors = a[0].tensors();
          require(!tensors.empty(), "expected at least one tensor");
          const std::string_view indexing = a[1].is_none() ? "ij" : a[1].string();
          require(indexing == "ij" || indexing == "xy", "indexing must be \"ij\" or \"xy\", not \"", indexing, "\"");
          const size_t count = tensors.size();
          const auto place = [&](size_t i) { return indexing == "xy" && count > 1 && i < 2 ? 1 - i : i; };
          Shape grid;
          grid.resize(count, 1);
          for (size_t i = 0; i < count; ++i) {
            require(tensors[i].dtype() == tensors[0].dtype(), "the tensors' dtypes differ: ", tensors[0].dtype(),
                    " and ", tensors[i].dtype());
            require(tensors[i].ndim() <= 1, "tensors must have at most 1 dimension, got shape ", tensors[i].shape());
            grid[place(i)] = tensors[i].numel();
          }
          for (size_t i = 0; i < count; ++i) {
            Shape shape;
            shape.resize(count, 1);
            shape[place(i)] = tensors[i].numel();
            const Tensor along = reshape(tensors[i], shape, at);
            out.push_back(expand(along, grid, at));
          }
        },
};

constinit const Symbol pixel_shuffle_symbol{
    .signature = "torch.nn.functional.pixel_shuffle(Tensor input, int upscale_factor) -> Tensor",
    .documentation = "[…, C r^2, H, W] as […, C, H r, W r]: channels become pixels.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const Int r = a[1].integer();
          require(x.ndim() >= 3, "needs at least 3 dimensions, got ", x.ndim());
          require(r > 0, "upscale_factor must be positive, not ", r.hint());
          const Int channels = x.size(-3), height = x.size(-2), width = x.size(-1);
          require(channels % (r * r) == 0, "the ", channels.hint(), " channels are not a multiple of ", (r * r).hint());
          Shape apart, joined;
          for (int64_t d = 0; d + 3 < x.ndim(); ++d) apart.push_back(x.size(static_cast<int>(d)));
          joined = apart;
          const auto first = static_cast<int64_t>(apart.size());
          for (const Int size : {channels / (r * r), r, r, height, width}) apart.push_back(size);
          for (const Int size : {channels / (r * r), height * r, width * r}) joined.push_back(size);
          Dims order;
          for (int64_t d = 0; d < first; ++d) order.push_back(d);
          for (const int64_t d : {0, 3, 1, 4, 2}) order.push_back(first + d);
          const Tensor parts = reshape(x, apart, at);
          const Tensor ordered = permute(parts, order, at);
          out.push_back(reshape(clone(ordered, at), joined, at));
        },
};

constinit const Symbol pixel_unshuffle_symbol{
    .signature = "torch.nn.functional.pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor",
    .documentation = "[…, C, H r, W r] as […, C r^2, H, W]: pixels become channels.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const Int r = a[1].integer();
          require(x.ndim() >= 3, "needs at least 3 dimensions, got ", x.ndim());
          require(r > 0, "downscale_factor must be positive, not ", r.hint());
          const Int channels = x.size(-3), height = x.size(-2), width = x.size(-1);
          require(height % r == 0 && width % r == 0, "the sizes ", height.hint(), " and ", width.hint(),
                  " are not multiples of ", r.hint());
          Shape apart, joined;
          for (int64_t d = 0; d + 3 < x.ndim(); ++d) apart.push_back(x.size(static_cast<int>(d)));
          joined = apart;
          const auto first = static_cast<int64_t>(apart.size());
          for (const Int size : {channels, height / r, r, width / r, r}) apart.push_back(size);
          for (const Int size : {channels * r * r, height / r, width / r}) joined.push_back(size);
          Dims order;
          for (int64_t d = 0; d < first; ++d) order.push_back(d);
          for (const int64_t d : {0, 2, 4, 1, 3}) order.push_back(first + d);
          const Tensor parts = reshape(x, apart, at);
          const Tensor ordered = permute(parts, order, at);
          out.push_back(reshape(clone(ordered, at), joined, at));
        },
};

SymbolList tiling_symbols() {
  static constexpr const Symbol* list[] = {
      &repeat_symbol,   &tile_symbol,          &repeat_interleave_symbol, &roll_symbol, &hstack_symbol, &vstack_symbol,
      &meshgrid_symbol, &pixel_shuffle_symbol, &pixel_unshuffle_symbol,
  };
  return list;
}

}  // namespace fulgurite
