// Different elements and different slices.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fulgurite/data_dependent.h>
#include <fulgurite/error.h>
#include <fulgurite/operators.h>

#include "ops/core/dispatch.h"
#include "ops/tensor/tensor_values.h"
#include "support/text/text.h"

namespace fulgurite {

namespace {

/// Rows of elements that were read into one row-major table.
template <class T>
struct Table {
  const T* elements;
  int64_t rows, width;
  const T* row(int64_t i) const { return elements + i * width; }
};

/// NaN stands behind all numbers and equals nothing.
template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (std::isnan(b) && !std::isnan(a));
  else return a < b;
}

template <class T>
bool row_before(const Table<T>& table, int64_t i, int64_t j) {
  return std::lexicographical_compare(table.row(i), table.row(i) + table.width, table.row(j),
                                      table.row(j) + table.width, before<T>);
}
template <class T>
bool rows_equal(const Table<T>& table, int64_t i, int64_t j) {
  return std::equal(table.row(i), table.row(i) + table.width, table.row(j));
}

/// The groups of equal rows: the first row of each, the group of each row, and their sizes.
struct Groups {
  std::vector<int64_t> first, group, count;
};

template <class T>
Groups find_groups(const Table<T>& table, bool sort) {
  std::vector<int64_t> order(static_cast<size_t>(table.rows));
  std::iota(order.begin(), order.end(), 0);
  if (sort) std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return row_before(table, i, j); });
  Groups out;
  out.group.resize(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || !rows_equal(table, order[k - 1], order[k])) {
      out.first.push_back(order[k]);
      out.count.push_back(0);
    }
    ++out.count.back();
    out.group[static_cast<size_t>(order[k])] = static_cast<int64_t>(out.first.size()) - 1;
  }
  return out;
}

Groups groups_of(const Tensor& table, bool sort) {
  const int64_t rows = table.size(0), width = rows == 0 ? 0 : static_cast<int64_t>(table.numel()) / rows;
  const auto of = [&]<class T>(T) {
    return find_groups(Table<T>{reinterpret_cast<const T*>(table.data_pointer()), rows, width}, sort);
  };
  switch (table.dtype()) {
    case Dtype::f64: return of(double());
    case Dtype::i64: return of(int64_t());
    case Dtype::i32: return of(int32_t());
    case Dtype::i16: return of(int16_t());
    case Dtype::i8: return of(int8_t());
    case Dtype::u8:
    case Dtype::boolean: return of(uint8_t());
    default: return of(float());
  }
}

struct Wanted {
  bool sort, inverse, counts;
};

/// Unique rows of a table that has its elements; 16-bit numbers are compared as f32.
std::tuple<Tensor, Tensor, Tensor> unique_rows(const Tensor& table, const Shape& inverse_shape, const Wanted& wanted,
                                               SourceLocation at) {
  const bool narrow = table.dtype() == Dtype::bf16 || table.dtype() == Dtype::f16;
  const Groups groups = groups_of((narrow ? table.to(Dtype::f32, at) : table).contiguous(at), wanted.sort);
  Tensor inverse, counts;
  if (wanted.inverse) inverse = reshape(tensor(groups.group, {}, at), Dims(inverse_shape), at);
  if (wanted.counts) counts = tensor(groups.count, {}, at);
  return {index_select(table, 0, tensor(groups.first, {}, at), at), inverse, counts};
}

std::tuple<Tensor, Tensor, Tensor> unique_of(const Tensor& input, const char* what, std::optional<int64_t> dim,
                                             const Wanted& wanted, SourceLocation at) {
  demand_elements(input, what, at);
  const InterpreterScope eager(nullptr);  // the elements are there: nothing is recorded
  const Tensor x = input.detach(at);
  if (!dim) return unique_rows(reshape(x, {-1}, at), x.shape(), wanted, at);
  const int64_t rank = x.ndim();
  if (*dim < -rank || *dim >= rank)
    throw UserError(text::cat(what, ": dim ", *dim, " is out of range for ", type_text(x)), at);
  const Int axis = *dim < 0 ? *dim + rank : *dim;
  if (x.numel() == 0 && x.size(axis) != 0)
    throw UserError(
        text::cat(what, ": slices of ", type_text(x), " along dimension ", *dim, " have no elements to compare"), at);
  const Tensor first = movedim(x, axis, 0, at);
  auto [values, inverse, counts] = unique_rows(first, {x.size(axis)}, wanted, at);
  return {movedim(values, 0, axis, at).contiguous(at), inverse, counts};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& input, bool, bool return_inverse, bool return_counts,
                                          std::optional<int64_t> dim, SourceLocation at) {
  return unique_of(input, "unique()", dim, {true, return_inverse, return_counts},
                   at);  // sorted is one of the allowed orders
}

std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& input, bool return_inverse, bool return_counts,
                                                      std::optional<int64_t> dim, SourceLocation at) {
  return unique_of(input, "unique_consecutive()", dim, {false, return_inverse, return_counts}, at);
}

std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& input, const UniqueOptions& options, SourceLocation at) {
  return unique(input, options.sorted, options.return_inverse, options.return_counts, options.dim, at);
}

}  // namespace fulgurite
