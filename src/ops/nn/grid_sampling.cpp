// Sampling of images at grid points, and the grids of affine maps.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/nn/interpolation_weights.h"
#include "ops/nn/window_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

enum class Outside { zeros, border, reflection };

/// The sampled input: [batch, channels, elements], with the sizes of the spatial dimensions.
struct Source {
  Tensor elements;
  Shape sizes;
  Outside outside;
  bool align_corners;
};

/// Maps -1 … 1 to element coordinates: the corners are the centres of the outermost elements, or their outer edges.
Tensor to_points(const Tensor& coordinates, Int size, bool align_corners, SourceLocation at) {
  const Tensor raised = add(coordinates, 1, 1, at);
  if (align_corners) return mul(raised, Float(size - 1) / 2.0, at);
  const Tensor scaled = mul(raised, size, at);
  const Tensor shifted = sub(scaled, 1, 1, at);
  return div(shifted, 2, {}, at);
}

/// Clamps coordinates to 0 … size - 1. On or outside the bounds the slope is zero, and NaN becomes 0.
Tensor clipped(const Tensor& points, Int size, SourceLocation at) {
  const Tensor is_above = gt(points, 0, at);
  const Tensor raised = where(is_above, points, 0.0, at);
  const Tensor is_below = lt(raised, size - 1, at);
  return where(is_below, raised, Float(size - 1), at);
}

/// Reflects coordinates at the bounds repeatedly, until they are inside.
Tensor reflected(const Tensor& points, Int size, bool align_corners, SourceLocation at) {
  const Float low = align_corners ? 0.0 : -0.5, span = align_corners ? Float(size - 1) : Float(size);
  if (span == 0.0) return mul(points, 0, at);
  const Tensor from_low = sub(points, low, 1, at);
  const Tensor is_negative = lt(from_low, 0, at);
  const Tensor turned = neg(from_low, at);
  const Tensor distance = where(is_negative, turned, from_low, at);
  const Tensor extra = fmod(distance, span, at);
  const Tensor spans = div(distance, span, {}, at);
  const Tensor flips = floor(spans, at);
  const Tensor parity = fmod(flips, 2, at);
  const Tensor is_even = eq(parity, 0, at);
  const Tensor forward = add(extra, low, 1, at);
  const Tensor backward = sub(span + low, extra, 1, at);
  return where(is_even, forward, backward, at);
}

/// Maps coordinates outside the image to those that they stand for.
Tensor brought_inside(const Tensor& points, Int size, const Source& source, SourceLocation at) {
  if (source.outside == Outside::zeros) return points;
  if (source.outside == Outside::border) return clipped(points, size, at);
  return clipped(reflected(points, size, source.align_corners, at), size, at);
}

/// Gathers elements at integer coordinates, one tensor per dimension (outermost first), each [batch, points]; zero
/// outside.
Tensor read(const Source& source, const std::vector<Tensor>& points, SourceLocation at) {
  Tensor is_inside, index;
  for (size_t d = 0; d < points.size(); ++d) {
    const Tensor from_zero = ge(points[d], 0, at);
    const Tensor below_size = lt(points[d], source.sizes[d], at);
    const Tensor inside = logical_and(from_zero, below_size, at);
    const Tensor safe = where(inside, points[d], 0.0, at);
    const Tensor number = prims::convert_element_type(safe, Dtype::i64, at);
    if (d == 0) {
      is_inside = inside;
      index = number;
      continue;
    }
    is_inside = logical_and(is_inside, inside, at);
    const Tensor rows = mul(index, source.sizes[d], at);
    index = add(rows, number, 1, at);
  }
  const Shape shape{index.size(0), source.elements.size(1), index.size(1)};
  const Tensor column = unsqueeze(index, 1, at);
  const Tensor wide = expand(column, shape, at);
  const Tensor values = gather(source.elements, 2, wide, at);
  const Tensor mask = unsqueeze(is_inside, 1, at);
  return where(mask, values, 0.0, at);
}

/// The sum over `taps` integer coordinates per dimension of the elements there, times the product of the dimensions'
/// weights.
Tensor weighted_sum(const Source& source, const std::vector<std::vector<Tensor>>& points,
                    const std::vector<std::vector<Tensor>>& weights, SourceLocation at) {
  const size_t taps = points[0].size();
  size_t count = 1;
  for (size_t d = 0; d < points.size(); ++d) count *= taps;
  Tensor total;
  for (size_t corner = 0; corner < count; ++corner) {
    std::vector<Tensor> chosen(points.size());
    Tensor weight;
    size_t rest = corner;
    for (size_t d = points.size(); d-- > 0; rest /= taps) {
      chosen[d] = points[d][rest % taps];
      weight = weight.defined() ? mul(weight, weights[d][rest % taps], at) : weights[d][rest % taps];
    }
    const Tensor values = read(source, chosen, at);
    const Tensor part = mul(values, unsqueeze(weight, 1, at), at);
    total = corner == 0 ? part : add(total, part, 1, at);
  }
  return total;
}

Tensor sample_nearest(const Source& source, const std::vector<Tensor>& coordinates, SourceLocation at) {
  std::vector<Tensor> points;
  for (size_t d = 0; d < coordinates.size(); ++d) {
    const Tensor given = to_points(coordinates[d], source.sizes[d], source.align_corners, at);
    points.push_back(round(brought_inside(given, source.sizes[d], source, at), at));
  }
  return read(source, points, at);
}

Tensor sample_linear(const Source& source, const std::vector<Tensor>& coordinates, SourceLocation at) {
  std::vector<std::vector<Tensor>> points, weights;
  for (size_t d = 0; d < coordinates.size(); ++d) {
    const Tensor given = to_points(coordinates[d], source.sizes[d], source.align_corners, at);
    const Tensor place = brought_inside(given, source.sizes[d], source, at);
    const Tensor below = floor(place, at);
    const Tensor share = sub(place, below, 1, at);
    points.push_back({below, add(below, 1, 1, at)});
    weights.push_back({rsub_one(share, at), share});
  }
  return weighted_sum(source, points, weights, at);
}

Tensor sample_cubic(const Source& source, const std::vector<Tensor>& coordinates, SourceLocation at) {
  std::vector<std::vector<Tensor>> points, weights;
  for (size_t d = 0; d < coordinates.size(); ++d) {
    const Tensor place = to_points(coordinates[d], source.sizes[d], source.align_corners, at);
    const Tensor below = floor(place, at);
    const Tensor share = sub(place, below, 1, at);
    points.emplace_back();
    weights.emplace_back();
    for (int tap = 0; tap < 4; ++tap) {
      const Tensor shifted = add(below, tap - 1, 1, at);
      const Tensor inside = brought_inside(shifted, source.sizes[d], source, at);
      // Reflection at half coordinates may leave a rounding error.
      points.back().push_back(source.outside == Outside::reflection ? round(inside, at) : inside);
      weights.back().push_back(cubic_weight(share, tap, at));
    }
  }
  return weighted_sum(source, points, weights, at);
}

Outside outside_of(std::string_view name) {
  if (name == "zeros") return Outside::zeros;
  if (name == "border") return Outside::border;
  require(name == "reflection", "padding_mode must be \"zeros\", \"border\" or \"reflection\", not \"", name, "\"");
  return Outside::reflection;
}

void check_grid_sample(Arguments a) {
  const Tensor &given = a[0].tensor(), &grid = a[1].tensor();
  const std::string_view mode = a[2].string();
  require(mode == "bilinear" || mode == "nearest" || mode == "bicubic",
          "mode must be \"bilinear\", \"nearest\" or \"bicubic\", not \"", mode, "\"");
  require(is_floating(given.dtype()), "needs a floating dtype, not ", given.dtype());
  require(given.dtype() == grid.dtype(), "input is ", given.dtype(), ", grid is ", grid.dtype());
  require((given.ndim() == 4 || given.ndim() == 5) && grid.ndim() == given.ndim(),
          "input and grid must both have 4 or 5 dimensions, got shapes ", given.shape(), " and ", grid.shape());
  const auto count = static_cast<size_t>(given.ndim() - 2);
  require(grid.size(0) == given.size(0), "input of shape ", given.shape(), " and grid of shape ", grid.shape(),
          " have different batch sizes");
  require(grid.size(-1) == static_cast<int64_t>(count), "the last dimension of grid must have size ", count,
          ", got shape ", grid.shape());
  for (const Int size : last_sizes(given.shape(), count))
    require(size > 0, "input may be empty in the batch alone, got shape ", given.shape());
  outside_of(a[3].string());
}

/// The sizes of the grid without its batch and its coordinates.
Shape points_of(const Tensor& grid) {
  Shape points = grid.shape();
  points.erase(points.size() - 1);
  points.erase(0);
  return points;
}

void infer_grid_sample(Arguments a, InferredTypes& types) {
  check_grid_sample(a);
  const Tensor& x = a[0].tensor();
  types.push_back(like(x, joined_sizes({x.size(0), x.size(1)}, points_of(a[1].tensor()))));
}

void decompose_grid_sample(Arguments a, Results& out, SourceLocation at) {
  check_grid_sample(a);
  const Tensor &given = a[0].tensor(), &grid = a[1].tensor();
  const std::string_view mode = a[2].string();
  const auto count = static_cast<size_t>(given.ndim() - 2);
  const Dtype dtype = compute_dtype(given.dtype());
  const Shape sizes = last_sizes(given.shape(), count), points = points_of(grid);
  const Tensor wide = as_dtype(given, dtype, at), wide_grid = as_dtype(grid, dtype, at);
  const Int batch = given.size(0), channels = given.size(1);
  const Source source{reshape(wide, {batch, channels, sizes.numel()}, at), sizes, outside_of(a[3].string()),
                      !a[4].is_none() && a[4].boolean()};
  const Tensor flat = reshape(wide_grid, {batch, points.numel(), count}, at);
  // The grid lists the last dimension's coordinate first.
  std::vector<Tensor> coordinates(count);
  for (size_t d = 0; d < count; ++d) coordinates[d] = select(flat, 2, static_cast<int64_t>(count - 1 - d), at);
  const Tensor result = mode == "nearest"    ? sample_nearest(source, coordinates, at)
                        : mode == "bilinear" ? sample_linear(source, coordinates, at)
                                             : sample_cubic(source, coordinates, at);
  const Tensor shaped = reshape(result, joined_sizes({batch, channels}, points), at);
  out.push_back(as_dtype(shaped, given.dtype(), at));
}

/// -1 … 1 in `count` steps: the outermost ones on the bounds, or half a step inside.
Tensor steps(Int count, bool align_corners, const Tensor& theta, SourceLocation at) {
  const TensorOptions options{.dtype = compute_dtype(theta.dtype()), .device = theta.device()};
  if (count <= 1) return zeros({count}, options, at);
  const Tensor even = linspace(-1, 1, count, options, at);
  return align_corners ? even : mul(even, Float(count - 1) / Float(count), at);
}

void decompose_affine_grid(Arguments a, Results& out, SourceLocation at) {
  const Tensor& theta = a[0].tensor();
  const Shape size = a[1].shape();
  const bool align_corners = !a[2].is_none() && a[2].boolean();
  require(is_floating(theta.dtype()), "theta needs a floating dtype, not ", theta.dtype());
  require(size.size() == 4 || size.size() == 5, "size must have 4 or 5 numbers, got ", size);
  require_at_least(size, 1, "size");
  const auto count = static_cast<int64_t>(size.size()) - 2;
  const Shape expected{size[0], count, count + 1};
  require(theta.shape() == expected, "theta has shape ", theta.shape(), ", expected ", expected);
  const Shape sizes = last_sizes(size, count);
  std::vector<Tensor> columns;
  for (int64_t d = count; d-- > 0;) {
    Shape shape;
    shape.resize(count + 1, 1);
    shape[d] = sizes[d];
    const Tensor points = reshape(steps(sizes[d], align_corners, theta, at), shape, at);
    columns.push_back(expand(points, joined_sizes(sizes, {1}), at));
  }
  columns.push_back(ones(joined_sizes(sizes, {1}), {.dtype = columns[0].dtype(), .device = theta.device()}, at));
  const Tensor points = cat(columns, -1, at);
  const Tensor rows = reshape(points, {sizes.numel(), count + 1}, at);
  const Tensor maps = transpose(as_dtype(theta, rows.dtype(), at), 1, 2, at);
  const Tensor mapped = matmul(rows, maps, at);
  const Tensor grid = reshape(mapped, joined_sizes(joined_sizes({size[0]}, sizes), {count}), at);
  out.push_back(as_dtype(grid, theta.dtype(), at));
}

}  // namespace

constinit const Symbol grid_sample_symbol{
    .signature =
        "torch.nn.functional.grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', "
        "bool? align_corners=None) -> Tensor",
    .documentation =
        "Samples images or volumes at the points of a grid, from -1 to 1, last dimension first; modes "
        "bilinear, nearest, bicubic; outside zeros, border or reflection.",
    .infer = infer_grid_sample,
    .decompose = decompose_grid_sample,
    .semantics = {.autocast = AutocastPolicy::wide},
};

constinit const Symbol affine_grid_symbol{
    .signature = "torch.nn.functional.affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor",
    .documentation = "The grid for grid_sample of affine maps [batch, 2, 3] or [batch, 3, 4], for results of a size.",
    .decompose = decompose_affine_grid,
};

SymbolList grid_sampling_symbols() {
  static constexpr const Symbol* list[] = {&grid_sample_symbol, &affine_grid_symbol};
  return list;
}

}  // namespace fulgurite
