// Resizing by interpolation, one dimension after another.
#include <cmath>

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

/// One resized dimension.
struct Axis {
  int64_t dim;
  Int from, to;
  Float scale;  // from coordinates in the result to those in the input
  Device device;
  Dtype dtype;  // of coordinates
};

/// 0, 1, …, count - 1.
Tensor numbers(Int count, const Axis& axis, SourceLocation at) {
  return arange(0, count, 1, {.dtype = axis.dtype, .device = axis.device}, at);
}

Tensor as_index(const Tensor& coordinates, SourceLocation at) {
  return prims::convert_element_type(coordinates, Dtype::i64, at);
}

/// The centre of each result element in input coordinates; with align_corners the corners' centres coincide.
Tensor source_coordinates(const Axis& axis, bool align_corners, SourceLocation at) {
  const Tensor coordinates = numbers(axis.to, axis, at);
  if (align_corners) return mul(coordinates, axis.scale, at);
  const Tensor middles = add(coordinates, 0.5, 1, at);
  const Tensor scaled = mul(middles, axis.scale, at);
  return sub(scaled, 0.5, 1, at);
}

/// Weights along `axis`, shaped to broadcast with tensors of x's dimensions.
Tensor along(const Tensor& weights, const Tensor& x, const Axis& axis, SourceLocation at) {
  Shape shape;
  shape.resize(x.ndim(), 1);
  shape[axis.dim] = axis.to;
  return reshape(weights, shape, at);
}

Tensor nearest(const Tensor& x, const Axis& axis, bool exact, SourceLocation at) {
  if (!exact && axis.from == axis.to) return x;
  const Tensor coordinates = numbers(axis.to, axis, at);
  const Tensor scaled = exact ? mul(add(coordinates, 0.5, 1, at), axis.scale, at) : mul(coordinates, axis.scale, at);
  const Tensor below = floor(scaled, at);
  const Tensor within = clamp(below, 0, axis.from - 1, at);
  return index_select(x, axis.dim, as_index(within, at), at);
}

Tensor linear(const Tensor& x, const Axis& axis, bool align_corners, SourceLocation at) {
  if (axis.from == axis.to) return x;
  const Tensor coordinates = source_coordinates(axis, align_corners, at);
  const Tensor inside = clamp(coordinates, 0, axis.from - 1, at);
  const Tensor below = floor(inside, at);
  const Tensor above = clamp_max(add(below, 1, 1, at), axis.from - 1, at);
  const Tensor share = along(sub(inside, below, 1, at), x, axis, at);
  const Tensor left = index_select(x, axis.dim, as_index(below, at), at);
  const Tensor right = index_select(x, axis.dim, as_index(above, at), at);
  const Tensor rest = rsub_one(share, at);
  const Tensor first = mul(left, rest, at);
  const Tensor second = mul(right, share, at);
  return add(first, second, 1, at);
}

Tensor cubic(const Tensor& x, const Axis& axis, bool align_corners, SourceLocation at) {
  const Tensor coordinates = source_coordinates(axis, align_corners, at);
  const Tensor below = floor(coordinates, at);
  const Tensor share = sub(coordinates, below, 1, at);
  Tensor total;
  for (int tap = 0; tap < 4; ++tap) {
    const Tensor shifted = add(below, tap - 1, 1, at);
    const Tensor within = clamp(shifted, 0, axis.from - 1, at);
    const Tensor values = index_select(x, axis.dim, as_index(within, at), at);
    const Tensor weight = along(cubic_weight(share, tap, at), x, axis, at);
    const Tensor part = mul(values, weight, at);
    total = tap == 0 ? part : add(total, part, 1, at);
  }
  return total;
}

/// The antialiasing filter: triangle (linear), or cubic with slope -0.5.
Tensor filtered(const Tensor& distance, bool is_cubic, SourceLocation at) {
  const Tensor x = abs(distance, at);
  if (!is_cubic) return clamp_min(rsub_one(x, at), 0, at);
  const Tensor inner = cubic_near(x, -0.5, at);
  const Tensor outer = cubic_far(x, -0.5, at);
  const Tensor is_inner = lt(x, 1, at);
  const Tensor is_outer = lt(x, 2, at);
  const Tensor tail = where(is_outer, outer, 0.0, at);
  return where(is_inner, inner, tail, at);
}

/// Weighted means over windows as wide as an element of the result.
Tensor antialiased(const Tensor& x, const Axis& axis, bool is_cubic, SourceLocation at) {
  const double scale = axis.scale, widest = std::max(scale, 1.0), support = (is_cubic ? 2.0 : 1.0) * widest;
  const auto taps = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  const Tensor coordinates = numbers(axis.to, axis, at);
  const Tensor middles = mul(add(coordinates, 0.5, 1, at), scale, at);
  const Tensor left = clamp_min(trunc(add(middles, 0.5 - support, 1, at), at), 0, at);
  const Tensor right = clamp_max(trunc(add(middles, 0.5 + support, 1, at), at), axis.from, at);
  const Tensor column = unsqueeze(left, 1, at);
  const Tensor steps = numbers(taps, axis, at);
  const Tensor elements = add(column, steps, 1, at);
  const Tensor element_middles = add(elements, 0.5, 1, at);
  const Tensor distance = sub(element_middles, unsqueeze(middles, 1, at), 1, at);
  const Tensor raw = filtered(mul(distance, 1 / widest, at), is_cubic, at);
  const Tensor is_seen = lt(elements, unsqueeze(right, 1, at), at);
  const Tensor weights = where(is_seen, raw, 0.0, at);
  const Tensor totals = sum(weights, Dims(1), true, {}, at);
  const Tensor shares = div(weights, totals, {}, at);
  const Tensor within = clamp_max(elements, axis.from - 1, at);
  const Tensor flat = reshape(as_index(within, at), {axis.to * taps}, at);
  const Tensor values = index_select(x, axis.dim, flat, at);
  Shape apart = x.shape(), shape;
  shape.resize(x.ndim() + 1, 1);
  apart[axis.dim] = axis.to;
  apart.insert(axis.dim + 1, taps);
  shape[axis.dim] = axis.to;
  shape[axis.dim + 1] = taps;
  // Elements outside a window do not count, even infinities.
  const Tensor windows = where(reshape(is_seen, shape, at), reshape(values, apart, at), 0.0, at);
  const Tensor factors = reshape(shares, shape, at);
  const Tensor products = mul(windows, factors, at);
  return sum(products, Dims(axis.dim + 1), false, {}, at);
}

/// The requested sizes, and the coordinate scale factors if they were given and apply.
struct Request {
  Shape sizes;
  SmallVector<Float, 3> factors;
};
Request request_of(Arguments a, const Shape& sizes) {
  Request r;
  const size_t count = sizes.size();
  require(a[1].is_none() != a[2].is_none(), "takes either size or scale_factor");
  const bool recompute = !a[5].is_none() && a[5].boolean();
  if (!a[1].is_none()) {
    require(!recompute, "recompute_scale_factor has no meaning where size is given");
    r.sizes = for_dimensions(a[1].integers(), count, "size");
    return r;
  }
  const auto given = a[2].floatings();
  require(given.size() == 1 || given.size() == count, "scale_factor must have 1 or ", count, " numbers, got ",
          given.size());
  for (size_t d = 0; d < count; ++d) {
    const Float factor = given[given.size() == 1 ? 0 : d];
    const double size = std::floor(static_cast<double>(Float(sizes[d]) * factor));
    require(std::isfinite(size) && std::fabs(size) < 0x1p62, "scale_factor ", factor.hint(), " is out of range");
    r.sizes.push_back(static_cast<int64_t>(size));
    if (!recompute) r.factors.push_back(factor);
  }
  return r;
}

struct Mode {
  std::string_view name;
  int64_t ndim;  // of accepted inputs; 0: three to five
  bool has_corners, has_antialias;
};
constexpr Mode modes[] = {{"nearest", 0, false, false}, {"nearest-exact", 0, false, false}, {"area", 0, false, false},
                          {"linear", 3, true, false},   {"bilinear", 4, true, true},        {"bicubic", 4, true, true},
                          {"trilinear", 5, true, false}};

const Mode& mode_of(std::string_view name, const Tensor& x) {
  for (const Mode& mode : modes) {
    if (mode.name != name) continue;
    require(x.ndim() >= 3 && x.ndim() <= 5 && (mode.ndim == 0 || x.ndim() == mode.ndim), "mode \"", name,
            "\" takes inputs of ", mode.ndim == 0 ? "3 to 5" : text::cat(mode.ndim), " dimensions, got shape ",
            x.shape());
    return mode;
  }
  require(false, "mode must be nearest, nearest-exact, area, linear, bilinear, bicubic or trilinear, not \"", name,
          "\"");
  return modes[0];
}

Float scale_of(Int from, Int to, const Request& r, size_t d, bool align_corners) {
  if (align_corners) return to > 1 ? Float(from - 1) / Float(to - 1) : Float(0.0);
  return r.factors.empty() ? Float(from) / Float(to) : 1.0 / r.factors[d];
}

/// Checks the arguments.
Request checked_request(Arguments a) {
  const Tensor& given = a[0].tensor();
  const std::string_view name = a[3].string();
  const Mode& mode = mode_of(name, given);
  require(a[4].is_none() || mode.has_corners, "align_corners has no meaning for mode \"", name, "\"");
  require(!a[6].boolean() || mode.has_antialias, "antialias is for modes bilinear and bicubic alone");
  const Shape shape = given.shape();
  Request r = request_of(a, last_sizes(shape, static_cast<size_t>(given.ndim() - 2)));
  for (size_t d = 1; d < shape.size(); ++d)
    require(shape[d] > 0, "input may be empty in the batch alone, got shape ", shape);
  for (const Int size : r.sizes) require(size > 0, "the result's sizes must be positive, got ", r.sizes);
  require(name.starts_with("nearest") || name == "area" || is_floating(given.dtype()), "mode \"", name,
          "\" needs a floating dtype, not ", given.dtype());
  return r;
}

void infer_interpolate(Arguments a, InferredTypes& types) {
  const Tensor& x = a[0].tensor();
  types.push_back(like(x, joined_sizes({x.size(0), x.size(1)}, checked_request(a).sizes)));
}

void decompose_interpolate(Arguments a, Results& out, SourceLocation at) {
  const Request r = checked_request(a);
  const Tensor& given = a[0].tensor();
  const std::string_view name = a[3].string();
  const bool align_corners = !a[4].is_none() && a[4].boolean(), antialias = a[6].boolean();
  const size_t count = static_cast<size_t>(given.ndim() - 2);
  const Shape sizes = last_sizes(given.shape(), count);
  if (name == "area") {
    const Shape wanted = r.sizes;
    if (count == 1) return out.push_back(nn::adaptive_avg_pool1d(given, wanted, at));
    return out.push_back(count == 2 ? nn::adaptive_avg_pool2d(given, wanted, at)
                                    : nn::adaptive_avg_pool3d(given, wanted, at));
  }
  const bool is_nearest = name.starts_with("nearest");
  Tensor x = is_nearest ? given : as_dtype(given, compute_dtype(given.dtype()), at);
  for (size_t d = 0; d < count; ++d) {
    const Axis axis{static_cast<int64_t>(d) + 2,
                    sizes[d],
                    r.sizes[d],
                    scale_of(sizes[d], r.sizes[d], r, d, align_corners),
                    x.device(),
                    given.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32};
    if (is_nearest) x = nearest(x, axis, name == "nearest-exact", at);
    else if (antialias) x = antialiased(x, axis, name == "bicubic", at);
    else x = name == "bicubic" ? cubic(x, axis, align_corners, at) : linear(x, axis, align_corners, at);
  }
  const Tensor result = as_dtype(x, given.dtype(), at);
  out.push_back(result.impl() == given.impl() ? clone(result, at) : result);
}

}  // namespace

constinit const Symbol interpolate_symbol{
    .signature =
        "torch.nn.functional.interpolate(Tensor input, int[]? size=None, float[]? scale_factor=None, str "
        "mode='nearest', bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
    .documentation =
        "Resizes the spatial dimensions to a size or by a factor; modes nearest, nearest-exact, area, linear, "
        "bilinear, bicubic, trilinear.",
    .infer = infer_interpolate,
    .decompose = decompose_interpolate,
    .python = "interpolate({0}, {1}, {2}, {3}, {4}, {5}, {6})",
    .python_definition =
        "def interpolate(x, size, factor, *options):\n"
        "  one = lambda list: list[0] if list is not None and len(list) == 1 else list\n"
        "  return torch.nn.functional.interpolate(x, one(size), one(factor), *options)\n",
};

SymbolList interpolation_symbols() {
  static constexpr const Symbol* list[] = {&interpolate_symbol};
  return list;
}

}  // namespace fulgurite
