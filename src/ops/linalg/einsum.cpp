// Sums of products over named dimensions: einsum and tensordot.
#include <algorithm>

#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/core/families.h"
#include "ops/core/precision.h"
#include "ops/generated/symbols.h"
#include "ops/linalg/einsum_equation.h"
#include "ops/shape/shape_rules.h"

namespace fulgurite {
namespace {

/// One factor of a product: a tensor and a distinct label for each dimension.
struct Term {
  Tensor x;
  std::vector<int> labels;

  bool has(int label) const { return place_of(label) < labels.size(); }
  size_t place_of(int label) const {
    return static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  }
  Int size(int label) const { return x.size(static_cast<int>(place_of(label))); }
  LabelSet set() const {
    LabelSet all;
    for (const int label : labels) all[static_cast<size_t>(label)] = true;
    return all;
  }
};

bool is_same(Int a, Int b) { return a.proxy() == b.proxy() && a.hint() == b.hint(); }

/// Reduces dimensions with the same label to their diagonal.
Term with_diagonals(const Tensor& operand, const std::vector<int>& labels, size_t number, SourceLocation at) {
  Term term{operand, {}};
  for (size_t d = 0; d < labels.size(); ++d) {
    const size_t first = term.place_of(labels[d]);
    if (first == term.labels.size()) {
      term.labels.push_back(labels[d]);
      continue;
    }
    const size_t second = term.labels.size();
    const Int size = term.x.size(static_cast<int>(first)), other = term.x.size(static_cast<int>(second));
    require(size == other, "subscript ", label_text(labels[d]), " is repeated for operand ", number, ", but the sizes ",
            size.hint(), " and ", other.hint(), " differ");
    const Tensor diagonals = diagonal(term.x, 0, first, second, at);
    // The diagonal is the last dimension; it moves to the position of the first one.
    term.x = movedim(diagonals, {-1}, {first}, at);
  }
  return term;
}

/// The size of each label, broadcast over the terms.
class LabelSizes {
 public:
  void add(const Term& term, size_t number) {
    for (size_t d = 0; d < term.labels.size(); ++d) {
      const size_t label = static_cast<size_t>(term.labels[d]);
      const Int size = term.x.size(static_cast<int>(d));
      if (label >= sizes_.size()) sizes_.resize(label + 1, -1);
      Int& known = sizes_[label];
      if (is_same(known, size)) continue;
      if (is_same(known, -1) || known == 1) known = size;
      else
        require(size == 1 || size == known, "subscript ", label_text(term.labels[d]), " has size ", size.hint(),
                " for operand ", number, ", ", known.hint(), " for one before it");
    }
  }
  /// The term without its dimensions of size 1 that are longer in others: its elements repeat along them.
  Term without_broadcast(Term term, SourceLocation at) const {
    for (size_t d = term.labels.size(); d-- > 0;) {
      const Int size = term.x.size(static_cast<int>(d)), whole = sizes_[static_cast<size_t>(term.labels[d])];
      if (is_same(size, whole) || size == whole) continue;
      term.x = squeeze(term.x, Int(d), at);
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(d));
    }
    return term;
  }
  std::vector<double> hints() const {
    std::vector<double> out;
    for (const Int size : sizes_) out.push_back(static_cast<double>(size.hint()));
    return out;
  }

 private:
  std::vector<Int> sizes_;
};

/// The term summed over the labels not in `kept`; integers in i64, as in sum(). For one of several terms, a dimension
/// of size 1 is only dropped.
Term summed(Term term, const LabelSet& kept, bool is_alone, SourceLocation at) {
  Dims dims, single;
  std::vector<int> rest;
  for (size_t d = 0; d < term.labels.size(); ++d) {
    if (kept[static_cast<size_t>(term.labels[d])]) rest.push_back(term.labels[d]);
    else if (!is_alone && is_same(term.x.size(static_cast<int>(d)), 1)) single.push_back(d);
    else dims.push_back(d);
  }
  if (!dims.empty()) {
    for (const Int d : single) dims.push_back(d);
    term.x = sum(term.x, dims, false, {}, at);
  } else if (!single.empty()) {
    term.x = squeeze(term.x, single, at);
  }
  term.labels = std::move(rest);
  return term;
}

/// The term with all its dimensions in this order.
Tensor ordered(const Term& term, const std::vector<int>& labels, SourceLocation at) {
  if (labels == term.labels) return term.x;
  Dims order;
  for (const int label : labels) order.push_back(term.place_of(label));
  return permute(term.x, order, at);
}

Shape sizes_of(const Term& term, const std::vector<int>& labels) {
  Shape shape;
  for (const int label : labels) shape.push_back(term.size(label));
  return shape;
}

std::vector<int> joined(std::initializer_list<std::vector<int>> lists) {
  std::vector<int> all;
  for (const std::vector<int>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Nothing is summed: each dimension of either term is one of the result.
Term multiplied(const Term& left, const Term& right, SourceLocation at) {
  Term result{{}, left.labels};
  for (const int label : right.labels)
    if (!left.has(label)) result.labels.push_back(label);
  std::vector<int> of_right;
  Shape left_shape, right_shape;
  for (const int label : result.labels) {
    left_shape.push_back(left.has(label) ? left.size(label) : Int(1));
    right_shape.push_back(right.has(label) ? right.size(label) : Int(1));
    if (right.has(label)) of_right.push_back(label);
  }
  const Tensor right_ordered = ordered(right, of_right, at);
  const Tensor first = left_shape.size() == left.labels.size() ? left.x : reshape(left.x, left_shape, at);
  const Tensor second = right_shape.size() == of_right.size() ? right_ordered : reshape(right_ordered, right_shape, at);
  result.x = mul(first, second, at);
  return result;
}

/// Brings integers widened by a sum and others to the same width.
void widen_integers(Term& left, Term& right, SourceLocation at) {
  if (is_floating(left.x.dtype()) || is_floating(right.x.dtype())) return;
  const Dtype common = promote_types(left.x.dtype(), right.x.dtype());
  left.x = as_dtype(left.x, common, at);
  right.x = as_dtype(right.x, common, at);
}

/// A batched matmul: shared labels that are kept are the batch, shared labels that are not kept are summed over.
Term contracted(Term left, Term right, const LabelSet& kept, SourceLocation at) {
  widen_integers(left, right, at);
  std::vector<int> batch, inner, rows, columns;
  for (const int label : left.labels) {
    if (!right.has(label)) rows.push_back(label);
    else (kept[static_cast<size_t>(label)] ? batch : inner).push_back(label);
  }
  for (const int label : right.labels)
    if (!left.has(label)) columns.push_back(label);
  if (inner.empty()) return multiplied(left, right, at);

  const auto matrices = [&](const Term& term, const std::vector<int>& second, const std::vector<int>& third,
                            bool keeps_second, bool keeps_third) {
    Tensor x = ordered(term, joined({batch, second, third}), at);
    if (batch.size() <= 1 && second.size() <= 1 && third.size() <= 1 && keeps_second == !second.empty() &&
        keeps_third == !third.empty())
      return x;
    Shape shape;
    if (!batch.empty()) shape.push_back(sizes_of(term, batch).numel());
    if (keeps_second) shape.push_back(sizes_of(term, second).numel());
    if (keeps_third) shape.push_back(sizes_of(term, third).numel());
    return reshape(x, shape, at);
  };
  // A batch needs matrices; a single matmul accepts vectors too.
  const bool is_batch = !batch.empty(), has_rows = is_batch || !rows.empty(),
             has_columns = is_batch || !columns.empty();
  const Tensor first = matrices(left, rows, inner, has_rows, true);
  const Tensor second = matrices(right, inner, columns, true, has_columns);
  Term result{is_batch ? bmm(first, second, at) : matmul(first, second, at), joined({batch, rows, columns})};
  const bool is_final = batch.size() == is_batch && rows.size() == has_rows && columns.size() == has_columns;
  if (is_final) return result;
  Shape shape = sizes_of(left, batch);
  for (const Int size : sizes_of(left, rows)) shape.push_back(size);
  for (const Int size : sizes_of(right, columns)) shape.push_back(size);
  result.x = reshape(result.x, shape, at);
  return result;
}

Tensor einsum_of(std::string_view text, std::span<const Tensor> operands, SourceLocation at) {
  const EinsumEquation equation(text, operands);
  LabelSet output;
  for (const int label : equation.output) output[static_cast<size_t>(label)] = true;
  std::vector<Term> terms;
  LabelSizes sizes;
  for (size_t i = 0; i < operands.size(); ++i) {
    terms.push_back(with_diagonals(operands[i], equation.operands[i], i, at));
    sizes.add(terms[i], i);
  }
  std::vector<LabelSet> sets;
  for (Term& term : terms) {
    term = sizes.without_broadcast(std::move(term), at);
    sets.push_back(term.set());
  }
  // Labels that only one term has and the output lacks are summed first.
  const bool is_alone = terms.size() == 1;
  for (size_t i = 0; i < terms.size(); ++i) {
    LabelSet needed = output;
    for (size_t j = 0; j < sets.size(); ++j)
      if (i != j) needed |= sets[j];
    terms[i] = summed(std::move(terms[i]), needed, is_alone, at);
  }
  for (size_t i = 0; i < terms.size(); ++i) sets[i] = terms[i].set();
  const std::vector<double> hints = sizes.hints();
  std::vector<bool> is_done(terms.size());
  for (const Contraction& step : contraction_order(sets, output, hints)) {
    is_done[step.left] = is_done[step.right] = true;
    LabelSet needed = output;
    for (size_t i = 0; i < terms.size(); ++i)
      if (!is_done[i]) needed |= sets[i];
    terms.push_back(contracted(terms[step.left], terms[step.right], needed, at));
    sets.push_back(terms.back().set());
    is_done.push_back(false);
  }
  const Term& last = terms.back();
  const bool is_operand = is_alone && last.x.is_same(operands[0]);
  if (!is_operand) return ordered(last, equation.output, at);
  Dims order;
  for (const int label : equation.output) order.push_back(last.place_of(label));
  return permute(last.x, order, at);
}

/// tensordot's dims: the summed dimensions of each tensor.
struct Summed {
  std::vector<int64_t> first, second;
};
Summed summed_dims(Arguments a) {
  const Tensor &x = a[0].tensor(), &y = a[1].tensor();
  const std::span<const Int> dims = a[2].integers();
  Summed out;
  if (a[3].is_none()) {
    require(dims.size() <= 1, "dims is one number, or two lists: those of a and those of b");
    const int64_t count = dims.empty() ? 0 : static_cast<int64_t>(dims[0]);
    require(count >= 0 && count <= x.ndim() && count <= y.ndim(), "dims is ", count, ", a has ", x.ndim(),
            " dimensions and b ", y.ndim());
    for (int64_t d = 0; d < count; ++d) {
      out.first.push_back(x.ndim() - count + d);
      out.second.push_back(d);
    }
    return out;
  }
  const std::span<const Int> other = a[3].integers();
  require(dims.size() == other.size(), "dims lists ", dims.size(), " dimensions of a and ", other.size(), " of b");
  for (const int64_t d : wrap_dims(dims, x.ndim())) out.first.push_back(d);
  for (const int64_t d : wrap_dims(other, y.ndim())) out.second.push_back(d);
  require(dims.empty() || (x.ndim() > 0 && y.ndim() > 0), "a tensor without dimensions has none to sum over");
  return out;
}

void check_sizes(const Tensor& x, const Tensor& y, const Summed& dims) {
  for (size_t i = 0; i < dims.first.size(); ++i) {
    const Int size = x.size(static_cast<int>(dims.first[i])), other = y.size(static_cast<int>(dims.second[i]));
    require(is_same(size, other) || size == other || size == 1 || other == 1,
            "the sizes that are summed over differ: a has ", size.hint(), " in dimension ", dims.first[i], ", b ",
            other.hint(), " in dimension ", dims.second[i]);
  }
}

/// The terms of a tensordot: dimensions that are summed together share a label.
void name_dimensions(const Tensor& x, const Tensor& y, const Summed& dims, Term& left, Term& right) {
  int next = 0;
  for (int64_t d = 0; d < x.ndim(); ++d) left.labels.push_back(next++);
  for (int64_t d = 0; d < y.ndim(); ++d) {
    const auto found = std::find(dims.second.begin(), dims.second.end(), d);
    right.labels.push_back(found == dims.second.end()
                               ? next++
                               : static_cast<int>(dims.first[static_cast<size_t>(found - dims.second.begin())]));
  }
}

Tensor tensordot_of(Arguments a, SourceLocation at) {
  const Tensor &x = a[0].tensor(), &y = a[1].tensor();
  require(x.dtype() == y.dtype(), "the operands' dtypes differ: ", x.dtype(), " and ", y.dtype());
  const Summed dims = summed_dims(a);
  check_sizes(x, y, dims);
  Term left{x, {}}, right{y, {}};
  name_dimensions(x, y, dims, left, right);
  LabelSizes sizes;
  sizes.add(left, 0);
  sizes.add(right, 1);
  left = sizes.without_broadcast(std::move(left), at);
  right = sizes.without_broadcast(std::move(right), at);
  LabelSet output;
  for (int64_t d = 0; d < x.ndim() + y.ndim(); ++d) output[static_cast<size_t>(d)] = true;
  for (const int64_t d : dims.first) output[static_cast<size_t>(d)] = false;
  // A broadcast dimension belongs to the other tensor alone.
  left = summed(std::move(left), output | right.set(), false, at);
  right = summed(std::move(right), output | left.set(), false, at);
  return contracted(left, right, output, at).x;
}

}  // namespace

constinit const Symbol einsum_symbol{
    .signature = "torch.einsum(str equation, Tensor[] operands) -> Tensor",
    .documentation =
        "The sum of products that an equation names: \"bij,bjk->bik\". Each letter is a dimension, \"...\" are "
        "dimensions that broadcast, a letter given twice for an operand is its diagonal; without \"->\" the output has "
        "\"...\" and the letters that appear once, in alphabetical order. Three operands and more are multiplied in "
        "the order that takes the fewest multiplications.",
    .decompose = [](Arguments a, Results& out,
                    SourceLocation at) { out.push_back(einsum_of(a[0].string(), a[1].tensors(), at)); },
    .python = "torch.einsum({0}, {1})",
    .traits = {.matmul = true},
};

constinit const Symbol tensordot_symbol{
    .signature = "torch.tensordot(Tensor a, Tensor b, int[] dims=2, int[]? dims_b=None) -> Tensor",
    .documentation =
        "The sum of products over the last dims dimensions of a and the first of b, or over the dimensions of a that "
        "dims lists and those of b that dims_b lists.",
    .decompose = [](Arguments a, Results& out, SourceLocation at) { out.push_back(tensordot_of(a, at)); },
    .python = "tensordot({0}, {1}, {2}, {3})",
    .python_definition =
        "def tensordot(a, b, dims, dims_b):\n"
        "  if dims_b is not None:\n"
        "    return torch.tensordot(a, b, dims=(list(dims), list(dims_b)))\n"
        "  return torch.tensordot(a, b, dims=dims[0] if dims else 0)\n",
    .traits = {.matmul = true},
};

SymbolList einsum_symbols() {
  static constexpr const Symbol* list[] = {&einsum_symbol, &tensordot_symbol};
  return list;
}

}  // namespace fulgurite
