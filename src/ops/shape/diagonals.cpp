// Extracting and embedding diagonals.
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// A diagonal of two dimensions.
struct DiagonalView {
  int64_t first, second;
  Int offset;
};
DiagonalView place_of(const Argument& offset, const Argument& dim1, const Argument& dim2, int64_t ndim) {
  require(ndim >= 2, "needs at least 2 dimensions, got ", ndim);
  const DiagonalView layout{normalize_dim(dim1.integer(), ndim), normalize_dim(dim2.integer(), ndim), offset.integer()};
  require(layout.first != layout.second, "dim1 and dim2 are the same dimension, ", layout.first);
  return layout;
}

/// The number of elements on a matrix's diagonal.
Int diagonal_length(Int rows, Int columns, Int offset) {
  const Int left = offset >= 0 ? rows : rows + offset, across = offset >= 0 ? columns - offset : columns;
  const Int length = left < across ? left : across;
  return length < 0 ? Int(0) : length;
}

Shape diagonal_shape(const Tensor& x, const DiagonalView& layout) {
  Shape shape;
  for (int64_t d = 0; d < x.ndim(); ++d)
    if (d != layout.first && d != layout.second) shape.push_back(x.size(static_cast<int>(d)));
  shape.push_back(
      diagonal_length(x.size(static_cast<int>(layout.first)), x.size(static_cast<int>(layout.second)), layout.offset));
  return shape;
}

/// Embeds x as a diagonal of zero matrices [rows, columns], which are the last two dimensions.
Tensor embedded(const Tensor& x, Int rows, Int columns, Int offset, SourceLocation at) {
  const Int length = x.size(-1);
  const bool is_above = offset >= 0;  // the element's index is its row, else its column
  Dims low, high;
  low.resize(x.ndim(), 0);
  high.resize(x.ndim(), 0);
  high[x.ndim() - 1] = (is_above ? rows : columns) - length;
  const Tensor padded = prims::pad(x, low, high, 0.0, at);
  const Tensor spread = unsqueeze(padded, is_above ? -1 : -2, at);
  const Tensor row_numbers = arange(rows, {.dtype = Dtype::i64, .device = x.device()}, at);
  const Tensor row = unsqueeze(row_numbers, 1, at);
  const Tensor column = arange(columns, {.dtype = Dtype::i64, .device = x.device()}, at);
  const Tensor distance = sub(column, row, 1, at);
  const Tensor is_on = eq(distance, offset, at);
  const Tensor zero = zeros({}, {.dtype = x.dtype(), .device = x.device()}, at);
  return where(is_on, spread, zero, at);
}

}  // namespace

constinit const Symbol diagonal_symbol{
    .signature = "torch.diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    .documentation = "A view of a diagonal of two dimensions; it becomes the last dimension.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& x = a[0].tensor();
          out.push_back(like(x, diagonal_shape(x, place_of(a[1], a[2], a[3], x.ndim()))));
        },
    .gradient =
        [](Gradient& g) {
          const Tensor x = g.tensor(0);
          const DiagonalView layout = place_of(g.argument(1), g.argument(2), g.argument(3), x.ndim());
          const Tensor matrices = embedded(g.cotangent(), x.size(static_cast<int>(layout.first)),
                                           x.size(static_cast<int>(layout.second)), layout.offset, SourceLocation());
          g.set(0, movedim(matrices, {-2, -1}, {layout.first, layout.second}));
        },
    .view =
        [](Arguments a, ViewGeometry& g) {
          const TensorImpl& x = *a[0].tensor().impl();
          const DiagonalView layout = place_of(a[1], a[2], a[3], static_cast<int64_t>(x.sizes.size()));
          const int64_t offset = static_cast<int64_t>(layout.offset);
          for (int64_t d = 0; d < static_cast<int64_t>(x.sizes.size()); ++d) {
            if (d == layout.first || d == layout.second) continue;
            g.sizes.push_back(x.sizes[d]);
            g.strides.push_back(x.strides[d]);
          }
          const Int length = diagonal_length(x.sizes[layout.first], x.sizes[layout.second], offset);
          g.sizes.push_back(static_cast<int64_t>(length));
          g.strides.push_back(x.strides[layout.first] + x.strides[layout.second]);
          g.offset = x.offset;
          if (length > 0)
            g.offset += offset >= 0 ? offset * x.strides[layout.second] : -offset * x.strides[layout.first];
          return true;
        },
    .write =
        [](Arguments a, const Tensor& value, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const DiagonalView layout = place_of(a[1], a[2], a[3], x.ndim());
          const Int rows = x.size(static_cast<int>(layout.first)), columns = x.size(static_cast<int>(layout.second));
          const Tensor written = embedded(value, rows, columns, layout.offset, at);
          const Tensor marks = full(value.shape(), true, {.dtype = Dtype::boolean, .device = x.device()}, at);
          const Tensor is_written = embedded(marks, rows, columns, layout.offset, at);
          const Tensor placed = movedim(written, {-2, -1}, {layout.first, layout.second}, at);
          const Tensor placed_marks = movedim(is_written, {-2, -1}, {layout.first, layout.second}, at);
          return where(placed_marks, placed, x, at);
        },
    .traits = {.view = true},
};

constinit const Symbol diag_embed_symbol{
    .signature = "torch.diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    .documentation = "Matrices of zeros, as the dimensions dim1 and dim2, with the last dimension along a diagonal.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          const Tensor& x = a[0].tensor();
          require(x.ndim() > 0, "needs at least 1 dimension");
          const DiagonalView layout = place_of(a[1], a[2], a[3], x.ndim() + 1);
          const Int size = x.size(-1) + (layout.offset < 0 ? -layout.offset : layout.offset);
          Shape shape;
          for (int64_t d = 0, given = 0; d <= x.ndim(); ++d)
            shape.push_back(d == layout.first || d == layout.second ? size : x.size(static_cast<int>(given++)));
          out.push_back(like(x, shape));
        },
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          require(x.ndim() > 0, "needs at least 1 dimension");
          const DiagonalView layout = place_of(a[1], a[2], a[3], x.ndim() + 1);
          const Int size = x.size(-1) + (layout.offset < 0 ? -layout.offset : layout.offset);
          const Tensor matrices = embedded(x, size, size, layout.offset, at);
          out.push_back(movedim(matrices, {-2, -1}, {layout.first, layout.second}, at));
        },
};

constinit const Symbol diag_symbol{
    .signature = "torch.diag(Tensor input, int diagonal=0) -> Tensor",
    .documentation = "The diagonal of a matrix, or the matrix that has a vector as its diagonal.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          require(x.ndim() == 1 || x.ndim() == 2, "needs 1 or 2 dimensions, got ", x.ndim());
          if (x.ndim() == 1) {
            out.push_back(diag_embed(x, a[1].integer(), -2, -1, at));
          } else {
            const Tensor view = diagonal(x, a[1].integer(), 0, 1, at);
            out.push_back(clone(view, at));
          }
        },
};

constinit const Symbol trace_symbol{
    .signature = "torch.trace(Tensor input) -> Tensor",
    .documentation = "The sum of a matrix's diagonal.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          require(a[0].tensor().ndim() == 2, "needs 2 dimensions, got ", a[0].tensor().ndim());
          const Tensor view = diagonal(a[0].tensor(), 0, 0, 1, at);
          out.push_back(sum(view, {}, false, {}, at));
        },
    .semantics = {.autocast = AutocastPolicy::wide},
};

SymbolList diagonal_symbols() {
  static constexpr const Symbol* list[] = {&diagonal_symbol, &diag_embed_symbol, &diag_symbol, &trace_symbol};
  return list;
}

}  // namespace fulgurite
