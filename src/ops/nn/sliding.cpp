// Sliding windows along a dimension.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/elementwise/pointwise_rules.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// Tensor.unfold's arguments in plain form; a 0-d tensor counts as one element.
struct Windows {
  int64_t dim;
  Int size, step, count;
};
Windows windows_of(Arguments a) {
  const Tensor& x = a[0].tensor();
  const int64_t dim = wrap_dim(a[1].integer(), x.ndim());
  const Int length = x.ndim() == 0 ? Int(1) : x.size(static_cast<int>(dim)), size = a[2].integer(),
            step = a[3].integer();
  require(size >= 0, "size is negative: ", size.hint());
  require(step > 0, "step must be positive, got ", step.hint());
  require(size <= length, "a window of size ", size.hint(), " is longer than the dimension, ", length.hint());
  return {dim, size, step, (length - size) / step + 1};
}

/// The mean over `size` neighbouring channels, zeros beyond the ends.
Tensor mean_of_neighbours(const Tensor& x, Int size, SourceLocation at) {
  Dims low, high;
  low.resize(x.ndim(), 0);
  high.resize(x.ndim(), 0);
  low[1] = size / 2;
  high[1] = (size - 1) / 2;
  const Tensor padded = prims::pad(x, low, high, 0.0, at);
  const Tensor windows = unfold(padded, 1, size, 1, at);
  if (is_floating(x.dtype())) return mean(windows, Dims(-1), false, {}, at);
  const Tensor total = sum(windows, Dims(-1), false, {}, at);
  return div(total, size, "trunc", at);
}

}  // namespace

constinit const Symbol tensor_unfold_symbol{
    .signature = "torch.Tensor.unfold(Tensor input, int dimension, int size, int step) -> Tensor",
    .documentation =
        "A view of all windows of `size` elements along a dimension, `step` elements apart; the elements of a window "
        "are the last dimension.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Windows windows = windows_of(a);
          Shape shape = a[0].tensor().shape();
          if (!shape.empty()) shape[windows.dim] = windows.count;
          shape.push_back(windows.size);
          out.push_back(like(a[0].tensor(), shape));
        },
    // Windows may overlap: cotangents of the same element are summed.
    .gradient =
        [](Gradient& g) {
          const Tensor x = g.tensor(0), cotangent = g.cotangent();
          const Windows windows = windows_of(g.arguments());
          const TensorOptions options{.dtype = cotangent.dtype(), .device = cotangent.device()};
          if (x.ndim() == 0) return g.set(0, sum(cotangent));
          const TensorOptions positions{.dtype = Dtype::i64, .device = cotangent.device()};
          const Tensor numbers = arange(windows.count, positions);
          const Tensor starts = mul(numbers, windows.step);
          const Tensor column = unsqueeze(starts, 1);
          const Tensor inside = arange(windows.size, positions);
          const Tensor elements = add(column, inside);
          std::vector<Tensor> indices(static_cast<size_t>(windows.dim) + 1);
          indices.back() = elements;
          const Tensor together = movedim(cotangent, {-1}, {windows.dim + 1});
          const Tensor nothing = zeros(x.shape(), options);
          g.set(0, prims::index_put(nothing, indices, together, true));
        },
    .view =
        [](Arguments a, ViewGeometry& view) {
          const TensorImpl& x = *a[0].tensor().impl();
          const Windows windows = windows_of(a);
          view.sizes = x.sizes;
          view.strides = x.strides;
          view.offset = x.offset;
          const int64_t stride = x.sizes.empty() ? 1 : x.strides[windows.dim];
          if (!x.sizes.empty()) {
            view.sizes[windows.dim] = windows.count;
            // With one window the stride is irrelevant, and may overflow.
            if (__builtin_mul_overflow(stride, static_cast<int64_t>(windows.step), &view.strides[windows.dim]))
              view.strides[windows.dim] = stride;
          }
          view.sizes.push_back(windows.size);
          view.strides.push_back(stride);
          return true;
        },
    .traits = {.view = true},
};

constinit const Symbol local_response_norm_symbol{
    .signature =
        "torch.nn.functional.local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float "
        "k=1.0) -> Tensor",
    .documentation =
        "Divided by (k + alpha * mean)^beta, where mean is that of the squares of the `size` channels around each.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& given = a[0].tensor();
          const Int size = a[1].integer();
          require(given.ndim() >= 3, "needs at least 3 dimensions, got ", given.ndim());
          require(is_floating(given.dtype()) || given.dtype() == Dtype::i64, "needs a floating dtype or i64, not ",
                  given.dtype());
          require(size > 0, "size must be positive, got ", size.hint());
          if (given.numel() == 0) return out.push_back(clone(given, at));
          const Tensor x = is_floating(given.dtype()) ? as_dtype(given, compute_dtype(given.dtype()), at) : given;
          const Tensor squares = mul(x, x, at);
          const Tensor average = mean_of_neighbours(squares, size, at);
          const Tensor scaled = mul(average, a[2].floating(), at);
          const Tensor raised = add(scaled, a[4].floating(), 1, at);
          const Tensor divisor = pow(raised, a[3].floating(), at);
          const Tensor result = div(x, divisor, {}, at);
          out.push_back(as_dtype(result, floating_or_default(given.dtype()), at));
        },
};

SymbolList sliding_symbols() {
  static constexpr const Symbol* list[] = {&tensor_unfold_symbol, &local_response_norm_symbol};
  return list;
}

}  // namespace fulgurite
