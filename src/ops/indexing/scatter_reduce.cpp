// scatter_reduce: values with the same index are summed, multiplied, averaged or compared.
#include <fulgurite/operators.h>

#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/indexing/indexing_rules.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// The common part of the gradient rules of all reductions.
struct Indices {
  explicit Indices(Gradient& g)
      : dim(g.argument(1).integer()),
        index(with_dimension(g.tensor(2))),
        reduce(g.argument(4).string()),
        includes_input(g.argument(5).boolean()) {}
  /// A 0-d index or source counts as one element.
  static Tensor with_dimension(const Tensor& x) { return x.ndim() == 0 ? reshape(x, {1}) : x; }

  /// A tensor of the input's shape with zeros at written indices, unless the input counts there too.
  Tensor of_input(const Tensor& x) const { return includes_input ? x : scatter(x, dim, index, 0); }
  Tensor read(const Tensor& x) const { return gather(x, dim, index); }
  Tensor added(const Tensor& x, const Tensor& source) const { return scatter_add(x, dim, index, source); }

  Int dim;
  Tensor index;
  std::string_view reduce;
  bool includes_input;
};

/// The part of a source that is read: the index's shape.
Tensor part_read(const Tensor& given, const Shape& shape) {
  Tensor source = Indices::with_dimension(given);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != source.size(static_cast<int>(d))) source = narrow(source, d, 0, shape[d]);
  return source;
}

/// Pads a cotangent of the read part with zeros to the source's shape.
Tensor whole_source(const Tensor& cotangent, const Shape& source) {
  const Shape part = cotangent.shape();
  if (part == source) return cotangent;
  if (source.empty()) return reshape(cotangent, {});
  Dims low, high;
  low.resize(source.size(), 0);
  for (size_t d = 0; d < source.size(); ++d) high.push_back(source[d] - part[d]);
  return prims::pad(cotangent, low, high, 0.0);
}

void gradient_of_sum(Gradient& g, const Indices& places, const Tensor& cotangent) {
  if (g.needs(0)) g.set(0, places.of_input(cotangent));
  if (g.needs(3)) g.set(3, scatter_source_cotangent(cotangent, places.dim, places.index, g.tensor(3).shape()));
}

void gradient_of_mean(Gradient& g, const Indices& places) {
  const TensorOptions options{.dtype = g.cotangent().dtype(), .device = g.cotangent().device()};
  const Tensor own = places.includes_input ? ones(g.tensor(0).shape(), options) : zeros(g.tensor(0).shape(), options);
  const Tensor each = ones(places.index.shape(), options);
  const Tensor counted = places.added(own, each);
  const Tensor count = places.includes_input ? counted : clamp_min(counted, 1);
  const Tensor share = div(g.cotangent(), count);
  gradient_of_sum(g, places, share);
}

/// Elements that equal the extremum share its cotangent.
void gradient_of_extremum(Gradient& g, const Indices& places) {
  const Tensor x = g.tensor(0), result = g.result();
  const Tensor source = part_read(g.tensor(3), places.index.shape());
  const Tensor is_result = eq(x, result);
  const Tensor chosen = prims::convert_element_type(is_result, x.dtype());
  const Tensor own = places.of_input(chosen);
  const Tensor there = places.read(result);
  const Tensor is_there = eq(source, there);
  const Tensor chosen_sources = prims::convert_element_type(is_there, x.dtype());
  const Tensor count = places.added(own, chosen_sources);
  const Tensor share = div(g.cotangent(), count);
  if (g.needs(0)) g.set(0, mul(own, share));
  if (!g.needs(3)) return;
  const Tensor shares = places.read(share);
  const Tensor cotangent = mul(chosen_sources, shares);
  g.set(3, whole_source(cotangent, g.tensor(3).shape()));
}

/// For each source element, the product of the others with the same index: computed without a division, so that zeros
/// are not special and its own derivatives are right. Sorted by index, it is the product of those before and those
/// after an element: linear recurrences that restart where the index changes.
Tensor products_of_others(const Tensor& source, const Tensor& index, int64_t dim) {
  const TensorOptions options{.dtype = source.dtype(), .device = source.device()};
  if (source.size(static_cast<int>(dim)) == 0) return ones(source.shape(), options);
  const auto [place, order] = sort(index, dim, false, true);
  const Tensor factor = gather(source, dim, order);
  const Int rest = source.size(static_cast<int>(dim)) - 1;
  const Tensor place_before = narrow(place, dim, 0, rest), place_behind = narrow(place, dim, 1, rest);
  const Tensor is_same = eq(place_before, place_behind);
  const Tensor begins_anew = prims::convert_element_type(logical_not(is_same), source.dtype());
  const auto product = [&](bool is_behind) {
    Dims low, high;
    low.resize(source.ndim(), 0);
    high.resize(source.ndim(), 0);
    (is_behind ? high : low)[dim] = 1;
    const Tensor neighbour = narrow(factor, dim, is_behind ? 1 : 0, rest);
    const Tensor carried = where(is_same, neighbour, 0);
    const Tensor factors = prims::pad(carried, low, high, 0.0);
    const Tensor begins = prims::pad(begins_anew, low, high, 1.0);
    return prims::linear_recurrence(begins, factors, dim, is_behind);
  };
  const Tensor before = product(false);
  const Tensor behind = product(true);
  const Tensor sorted = mul(before, behind);
  return scatter(zeros(source.shape(), options), dim, order, sorted);
}

void gradient_of_product(Gradient& g, const Indices& places) {
  const Tensor x = g.tensor(0), cotangent = g.cotangent();
  const Tensor source = part_read(g.tensor(3), places.index.shape());
  if (g.needs(0)) {
    const Tensor nothing = ones(x.shape(), {.dtype = x.dtype(), .device = x.device()});
    const Tensor product = scatter_reduce(nothing, places.dim, places.index, source, "prod");
    const Tensor own = mul(cotangent, product);
    g.set(0, places.of_input(own));
  }
  if (!g.needs(3)) return;
  const Tensor others = products_of_others(source, places.index, wrap_dim(places.dim, x.ndim()));
  const Tensor weight = places.includes_input ? mul(cotangent, x) : cotangent;
  const Tensor weight_there = places.read(weight);
  g.set(3, whole_source(mul(weight_there, others), g.tensor(3).shape()));
}

}  // namespace

constinit const Symbol scatter_reduce_symbol{
    .signature =
        "torch.scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) "
        "-> Tensor",
    .documentation =
        "A copy of input with the elements of src brought together at the places that index lists along dim: reduce "
        "is \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\"; without include_self the input's own elements there do "
        "not count.",
    .infer =
        [](Arguments a, InferredTypes& types) {
          const std::string_view reduce = a[4].string();
          const bool is_mean = reduce == "mean";
          require(is_mean || reduce == "sum" || reduce == "prod" || reduce == "amax" || reduce == "amin",
                  "reduce must be \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", got \"", reduce, "\"");
          require(!is_mean || !is_boolean(a[0].tensor().dtype()), "there is no mean of booleans");
          infer_scatter(a, types);
        },
    .gradient =
        [](Gradient& g) {
          const Indices places(g);
          if (places.reduce == "sum") gradient_of_sum(g, places, g.cotangent());
          else if (places.reduce == "mean") gradient_of_mean(g, places);
          else if (places.reduce == "prod") gradient_of_product(g, places);
          else gradient_of_extremum(g, places);
        },
    .python = "torch.scatter_reduce({0}, {1}, {2}, {3}, {4}, include_self={5})",
    .traits = {.has_in_place_form = true},
};

SymbolList scatter_reduce_symbols() {
  static constexpr const Symbol* list[] = {&scatter_reduce_symbol};
  return list;
}

}  // namespace fulgurite
