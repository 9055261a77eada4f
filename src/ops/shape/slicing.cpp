// Operators that split or narrow a tensor.
#include <algorithm>

#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/generated/symbols.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// Splits x along `dim` into slices of the given lengths.
void cut(const Tensor& x, int64_t dim, std::span<const int64_t> lengths, Results& out, SourceLocation at) {
  int64_t start = 0;
  for (const int64_t length : lengths) {
    out.push_back(narrow(x, dim, start, length, at));
    start += length;
  }
}

/// Splits x into slices of `chunk`, the last one shorter.
void cut_evenly(const Tensor& x, int64_t dim, int64_t chunk, Results& out, SourceLocation at) {
  const int64_t size = x.size(static_cast<int>(dim));
  require(chunk > 0 || (chunk == 0 && size == 0), "the split size ", chunk, " does not suit a dimension of size ",
          size);
  std::vector<int64_t> lengths;
  for (int64_t start = 0; start < size; start += chunk) lengths.push_back(std::min(chunk, size - start));
  if (lengths.empty()) lengths.push_back(0);
  cut(x, dim, lengths, out, at);
}

void cut_in_sections(const Tensor& x, int64_t dim, std::span<const Int> sections, Results& out, SourceLocation at) {
  const int64_t size = x.size(static_cast<int>(dim));
  std::vector<int64_t> lengths;
  int64_t total = 0;
  for (const Int section : sections) {
    lengths.push_back(section);
    require(lengths.back() >= 0, "a section is negative: ", Shape(sections.data(), sections.size()));
    total = detail::exact_add(total, lengths.back());
  }
  require(total == size, "the sections ", Shape(sections.data(), sections.size()), " add up to ", total,
          ", the dimension has size ", size);
  cut(x, dim, lengths, out, at);
}

int64_t split_dim(const Tensor& x, Int dim) {
  require(x.ndim() > 0, "a tensor without dimensions cannot be split");
  return normalize_dim(dim, x.ndim());
}

/// The cotangent of a split input: the slices' concatenated. One copy; the slices' own rules would create and sum a
/// full tensor for each.
void join_cotangents(Gradient& g) {
  const int64_t dim = split_dim(g.tensor(0), g.argument(2).integer());
  std::vector<Tensor> chunks;
  for (size_t i = 0; i < g.result_count(); ++i) chunks.push_back(g.cotangent_or_zeros(i));
  g.set(0, cat(chunks, dim));
}

/// The same for slices of one index.
void stack_cotangents(Gradient& g) {
  const Tensor x = g.tensor(0);
  std::vector<Tensor> rows;
  for (size_t i = 0; i < g.result_count(); ++i) rows.push_back(g.cotangent_or_zeros(i));
  g.set(0, rows.empty() ? zeros_like(x) : stack(rows, normalize_dim(g.argument(1).integer(), x.ndim())));
}

/// x where its column minus its row is at most (lower) or at least (upper) `diagonal`, else zero.
Tensor keep_triangle(const Tensor& x, Int diagonal, bool lower, SourceLocation at) {
  require(x.ndim() >= 2, "expected at least 2 dimensions, got ", x.ndim());
  // No size comes near these bounds, and no row index shifted by one of them overflows 64 bits.
  constexpr int64_t furthest = int64_t{1} << 62;
  diagonal = min(max(diagonal, -furthest), furthest);
  const TensorOptions integers{.dtype = Dtype::i64, .device = x.device()};
  const Tensor row_numbers = arange(0, x.size(-2), 1, integers, at);
  const Tensor columns = arange(0, x.size(-1), 1, integers, at);
  const Tensor rows = unsqueeze(row_numbers, 1, at);
  const Tensor last = add(rows, diagonal, 1, at);
  const Tensor keep = lower ? le(columns, last, at) : ge(columns, last, at);
  if (x.dtype() == Dtype::boolean) return logical_and(x, keep, at);
  return where(keep, x, 0, at);
}

void infer_triangle(Arguments a, InferredTypes& out) {
  const Tensor& x = a[0].tensor();
  require(x.ndim() >= 2, "expected at least 2 dimensions, got ", x.ndim());
  out.push_back(like(x, x.shape()));
}

}  // namespace

constinit const Symbol split_symbol{
    .signature = "torch.split(Tensor tensor, int[] split_size_or_sections, int dim=0) -> Tensor[]",
    .documentation = "Views that follow one another along a dimension: all of one size, or of the sizes listed.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const int64_t dim = split_dim(x, a[2].integer());
          const auto sections = a[1].integers();
          if (sections.size() == 1) cut_evenly(x, dim, sections[0], out, at);
          else cut_in_sections(x, dim, sections, out, at);
        },
    .gradient = join_cotangents,
    .python = "split({0}, {1}, {2})",
    .python_definition =
        "def split(x, sizes, dim):\n"
        "  sizes = [sizes] if isinstance(sizes, int) else list(sizes)\n"
        "  return torch.split(x, sizes[0] if len(sizes) == 1 else sizes, dim)\n",
};

constinit const Symbol split_with_sizes_symbol{
    .signature = "torch.split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]",
    .documentation = "Views of the sizes listed that follow one another along a dimension.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          cut_in_sections(x, split_dim(x, a[2].integer()), a[1].integers(), out, at);
        },
    .gradient = join_cotangents,
};

constinit const Symbol chunk_symbol{
    .signature = "torch.chunk(Tensor input, int chunks, int dim=0) -> Tensor[]",
    .documentation =
        "At most `chunks` views of equal size (the last may be smaller) that follow one another along a dimension.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          const int64_t dim = split_dim(x, a[2].integer()), chunks = a[1].integer();
          require(chunks > 0, "chunks must be positive, got ", chunks);
          const int64_t size = x.size(static_cast<int>(dim));
          require(size > 0 || chunks <= int64_t{1} << 20, "there are no ", chunks, " pieces of a dimension of size 0");
          if (size == 0) cut(x, dim, std::vector<int64_t>(chunks, 0), out, at);
          else cut_evenly(x, dim, (size - 1) / chunks + 1, out, at);
        },
    .gradient = join_cotangents,
};

constinit const Symbol unbind_symbol{
    .signature = "torch.unbind(Tensor input, int dim=0) -> Tensor[]",
    .documentation = "A view for each index along a dimension.",
    .decompose =
        [](Arguments a, Results& out, SourceLocation at) {
          const Tensor& x = a[0].tensor();
          require(x.ndim() > 0, "a tensor without dimensions cannot be unbound");
          const int64_t dim = normalize_dim(a[1].integer(), x.ndim());
          const int64_t size = x.size(static_cast<int>(dim));
          for (int64_t i = 0; i < size; ++i) out.push_back(select(x, dim, i, at));
        },
    .gradient = stack_cotangents,
};

constinit const Symbol tril_symbol{
    .signature = "torch.tril(Tensor input, int diagonal=0) -> Tensor",
    .documentation = "The lower triangle of matrices, up to a diagonal; zero elsewhere.",
    .infer = infer_triangle,
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(keep_triangle(a[0].tensor(), a[1].integer(), true, at)); },
    .traits = {.has_in_place_form = true},
};

constinit const Symbol triu_symbol{
    .signature = "torch.triu(Tensor input, int diagonal=0) -> Tensor",
    .documentation = "The upper triangle of matrices, from a diagonal on; zero elsewhere.",
    .infer = infer_triangle,
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(keep_triangle(a[0].tensor(), a[1].integer(), false, at)); },
    .traits = {.has_in_place_form = true},
};

constinit const Symbol flip_symbol{
    .signature = "torch.flip(Tensor input, int[] dims) -> Tensor",
    .documentation = "A copy with the order of elements reversed along some dimensions.",
    .infer =
        [](Arguments a, InferredTypes& out) {
          wrap_dims(a[1].integers(), a[0].tensor().ndim());
          out.push_back(like(a[0].tensor(), a[0].tensor().shape()));
        },
    .gradient = [](Gradient& g) { g.set(0, flip(g.cotangent(), g.argument(1).shape())); },
};

std::span<const Symbol* const> slicing_symbols() {
  static constexpr const Symbol* all[] = {
      &split_symbol, &split_with_sizes_symbol, &chunk_symbol, &unbind_symbol, &tril_symbol, &triu_symbol, &flip_symbol};
  return all;
}

}  // namespace fulgurite
