// Sums, means and maxima of rows of a table.
#include <fulgurite/embedding_bag.h>

#include <cmath>

#include <fulgurite/autograd.h>
#include <fulgurite/error.h>
#include <fulgurite/nn.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "support/text/text.h"
#include "tensor/tensor_impl.h"

namespace fulgurite::nn {

namespace {

/// A list of indices and the bag of each.
struct Bags {
  Tensor index, bag;  // [count], i64
  Tensor is_counted;  // [count], boolean; undefined if all are
  Int count = 0;      // bags
};

void fail(const std::string& message, SourceLocation at) { throw UserError("embedding_bag: " + message, at); }

void check_index(const Tensor& tensor, const char* name, SourceLocation at) {
  if (!tensor.defined()) fail(text::cat(name, " is an undefined tensor"), at);
  if (tensor.dtype() != Dtype::i64 && tensor.dtype() != Dtype::i32)
    fail(text::cat(name, " must be i64 or i32, not ", type_text(tensor)), at);
}

void check(const Tensor& input, const Tensor& weight, const EmbeddingBagArguments& a, SourceLocation at) {
  check_index(input, "the input", at);
  if (!weight.defined() || weight.dim() != 2 || !is_floating(weight.dtype()))
    fail("the weight must be a floating matrix [rows, width]", at);
  if (a.mode != "sum" && a.mode != "mean" && a.mode != "max")
    fail(text::cat("mode must be \"sum\", \"mean\" or \"max\", not \"", a.mode, "\""), at);
  if (input.dim() != 1 && input.dim() != 2)
    fail(text::cat("the input must be [count] or [bags, count], not ", type_text(input)), at);
  if (input.dim() == 2 && a.offsets.defined())
    fail("an input [bags, count] takes no offsets; its rows are the bags", at);
  if (input.dim() == 1 && !a.offsets.defined())
    fail("an input [count] needs offsets, the first position of each bag", at);
  if (a.scale_grad_by_freq && a.mode == "max") fail("scale_grad_by_freq works with \"sum\" and \"mean\" only", at);
  if (!a.per_sample_weights.defined()) return;
  if (a.mode != "sum") fail(text::cat("per_sample_weights work with mode \"sum\" only, not \"", a.mode, "\""), at);
  if (a.per_sample_weights.shape() != input.shape() || a.per_sample_weights.dtype() != weight.dtype())
    fail(text::cat("per_sample_weights must have the input's shape and the weight's dtype, they are ",
                   type_text(a.per_sample_weights)),
         at);
}

/// Offsets that exist can be looked at; in a trace they cannot.
void check_offsets(const Tensor& offsets, Int count, bool include_last, SourceLocation at) {
  check_index(offsets, "offsets", at);
  if (offsets.dim() != 1) fail(text::cat("offsets must be a vector, not ", type_text(offsets)), at);
  if (include_last && offsets.size(0) < 1) fail("include_last_offset needs at least one offset", at);
  if (innermost_interpreter() || offsets.size(0) == 0) return;
  const auto first = offsets(0).item<int64_t>(at), last = offsets(-1).item<int64_t>(at);
  if (first != 0) fail(text::cat("offsets must begin with 0, not ", first), at);
  if (last > count.hint()) fail(text::cat("offsets must not exceed the ", count, " indices: ", last), at);
}

Bags of_rows(const Tensor& input, SourceLocation at) {
  const Tensor rows = unsqueeze(arange(input.size(0), {}, at), 1, at);
  return {.index = reshape(input, {-1}, at),
          .bag = reshape(expand(rows, Dims(input.shape()), at), {-1}, at),
          .is_counted = {},
          .count = input.size(0)};
}

Bags of_offsets(const Tensor& input, const Tensor& given, bool include_last, SourceLocation at) {
  check_offsets(given, input.size(0), include_last, at);
  const Tensor offsets = given.to(Dtype::i64, at), positions = arange(input.size(0), {}, at);
  Bags bags{.index = input, .bag = {}, .is_counted = {}, .count = offsets.size(0)};
  if (include_last) bags.count = bags.count - 1;
  const Tensor starts = narrow(offsets, 0, 0, bags.count, at);
  const Tensor after = searchsorted(starts, positions, false, true, {}, {}, at);
  bags.bag = clamp_min(sub(after, 1, 1, at), 0, at);
  return bags;
}

/// [count] as a column beside the rows of the table.
Tensor column(const Tensor& vector, SourceLocation at) { return unsqueeze(vector, 1, at); }

Tensor sums(const Tensor& rows, const Bags& bags, SourceLocation at) {
  const Tensor zero = zeros({bags.count, rows.size(1)}, {.dtype = rows.dtype()}, at);
  return index_add(zero, 0, bags.bag, rows, 1, at);
}

Tensor means(const Tensor& rows, const Bags& bags, SourceLocation at) {
  const Tensor one = ones({rows.size(0), 1}, {.dtype = rows.dtype()}, at);
  const Tensor counted = bags.is_counted.defined() ? mul(one, column(bags.is_counted, at), at) : one;
  const Tensor counts = clamp_min(sums(counted, bags, at), 1.0, at);
  return div(sums(rows, bags, at), counts, {}, at);
}

/// The gradient goes to the first of equal maxima, as in PyTorch: they are gathered by position. The row of zeros
/// behind all others stands for a bag without indices.
Tensor maxima(const Tensor& rows, const Bags& bags, SourceLocation at) {
  const Int count = rows.size(0), width = rows.size(1);
  const Tensor values = rows.detach(at);
  const Tensor index = expand(column(bags.bag, at), {count, width}, at);
  const Tensor lowest = zeros({bags.count, width}, {.dtype = rows.dtype()}, at);
  Tensor candidates = values;
  if (bags.is_counted.defined()) candidates = where(column(bags.is_counted, at), values, -INFINITY, at);
  const Tensor largest = scatter_reduce(lowest, 0, index, candidates, "amax", false, at);
  const Tensor own_largest = gather(largest, 0, index, at);
  const Tensor is_equal = eq(values, own_largest, at), is_nan = isnan(values, at);
  Tensor is_largest = logical_or(is_equal, is_nan, at);
  if (bags.is_counted.defined()) is_largest = logical_and(is_largest, column(bags.is_counted, at), at);
  const Tensor positions = column(arange(count, {}, at), at);
  const Tensor position = where(is_largest, positions, count, at);
  const Tensor none = full({bags.count, width}, count, {.dtype = Dtype::i64}, at);
  const Tensor first = scatter_reduce(none, 0, index, position, "amin", true, at);
  const Tensor empty_row = zeros({1, width}, {.dtype = rows.dtype()}, at);
  return gather(cat({rows, empty_row}, 0, at), 0, first, at);
}

}  // namespace

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagArguments& a, SourceLocation at) {
  check(input, weight, a, at);
  Bags bags = input.dim() == 2 ? of_rows(input, at) : of_offsets(input, a.offsets, a.include_last_offset, at);
  if (a.padding_idx) {
    const int64_t count = weight.size(0).hint(), padding = *a.padding_idx + (*a.padding_idx < 0 ? count : 0);
    if (padding < 0 || padding >= count)
      fail(text::cat("padding_idx ", *a.padding_idx, " is outside of the ", count, " rows"), at);
    bags.is_counted = ne(bags.index, padding, at);
  }
  Tensor rows = embedding(bags.index, weight, {}, {}, 2.0, a.scale_grad_by_freq, false, at);
  if (size_of(rows.dtype()) == 2) rows = rows.to(Dtype::f32, at);
  if (a.mode == "max") return maxima(rows, bags, at).to(weight.dtype(), at);
  if (a.per_sample_weights.defined()) {
    const Tensor flat = reshape(a.per_sample_weights, {-1}, at);
    rows = mul(rows, column(flat, at), at);
  }
  if (bags.is_counted.defined()) rows = where(column(bags.is_counted, at), rows, 0.0, at);
  return (a.mode == "sum" ? sums(rows, bags, at) : means(rows, bags, at)).to(weight.dtype(), at);
}

EmbeddingBag::EmbeddingBag(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingBagOptions& chosen,
                           SourceLocation at)
    : options(chosen) {
  weight =
      Embedding(num_embeddings, embedding_dim, {.padding_idx = chosen.padding_idx, .dtype = chosen.dtype}, at).weight;
}

Tensor EmbeddingBag::operator()(const Tensor& input, const Tensor& offsets, const Tensor& per_sample_weights,
                                SourceLocation at) const {
  return embedding_bag(input, weight,
                       {.offsets = offsets,
                        .mode = options.mode,
                        .per_sample_weights = per_sample_weights,
                        .include_last_offset = options.include_last_offset,
                        .padding_idx = options.padding_idx,
                        .scale_grad_by_freq = options.scale_grad_by_freq},
                       at);
}

}  // namespace fulgurite::nn
