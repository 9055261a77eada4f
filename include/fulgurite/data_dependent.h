#pragma once
#include <fulgurite/detail/requirements.h>

#include <cstdint>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fulgurite/detail/given.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

#pragma GCC visibility push(default)
namespace fulgurite {

// Functions whose results have sizes that depend on elements. In a traced function they end a piece, as item() does.

/// The indices of the elements that are not zero, [count, ndim] (torch.nonzero).
Tensor nonzero(const Tensor& input, SourceLocation at = SourceLocation::here());
Tensor argwhere(const Tensor& input, SourceLocation at = SourceLocation::here());
/// The same, one i64 tensor for each dimension (torch.where of a condition alone).
std::vector<Tensor> where(const Tensor& condition, SourceLocation at = SourceLocation::here());
/// The elements where the mask is true, in row-major order; input and mask broadcast (torch.masked_select). Has a
/// gradient. Throws UserError unless the mask is boolean.
Tensor masked_select(const Tensor& input, const Tensor& mask, SourceLocation at = SourceLocation::here());

/// Options of unique and unique_consecutive; members are given in this order.
struct UniqueOptions {
  detail::NamedMembers named_members = detail::NamedMembers();
  bool sorted = true;
  bool return_inverse = true;
  bool return_counts = true;
  std::optional<int64_t> dim = {};
};
/// Different elements in ascending order, or different slices along dim; for each element the position of its value;
/// and how often each occurs (torch.unique). What is not asked for is undefined: `auto [values, inverse, counts] =
/// unique(x);`.
std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& input, bool sorted = true, bool return_inverse = true,
                                          bool return_counts = true, std::optional<int64_t> dim = {},
                                          SourceLocation at = SourceLocation::here());
std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& input, const UniqueOptions& options,
                                          SourceLocation at = SourceLocation::here());
/// The same of neighbours alone: equal ones that follow one another become one (torch.unique_consecutive).
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& input, bool return_inverse = true,
                                                      bool return_counts = true, std::optional<int64_t> dim = {},
                                                      SourceLocation at = SourceLocation::here());

/// Counts each number from 0 to the largest, or sums its weights (torch.bincount). Throws
/// UserError unless input is a vector of integers of at least 0.
Tensor bincount(const Tensor& input, const Tensor& weights = {}, int64_t minlength = 0,
                SourceLocation at = SourceLocation::here());
/// Counts the elements in each of `bins` equal intervals from min to max, or of the range of the elements where
/// both are 0 (torch.histc). Throws UserError unless input is floating.
Tensor histc(const Tensor& input, int64_t bins = 100, double min = 0, double max = 0,
             SourceLocation at = SourceLocation::here());

/// A row of a tensor in a loop over it: `for (const Tensor& row : x)`. Rows are views along the first dimension.
class RowIterator {
 public:
  using value_type = Tensor;
  using difference_type = int64_t;
  using iterator_category = std::input_iterator_tag;
  using reference = Tensor;
  using pointer = void;
  RowIterator() = default;
  RowIterator(Tensor tensor, int64_t row) : tensor_(std::move(tensor)), row_(row) {}
  Tensor operator*() const;
  RowIterator& operator++() {
    ++row_;
    return *this;
  }
  RowIterator operator++(int) {
    RowIterator before = *this;
    ++row_;
    return before;
  }
  bool operator==(const RowIterator& other) const { return row_ == other.row_; }

 private:
  Tensor tensor_;
  int64_t row_ = 0;
};
/// Throw UserError for a tensor without dimensions.
RowIterator begin(const Tensor& tensor);
RowIterator end(const Tensor& tensor);

}  // namespace fulgurite
#pragma GCC visibility pop

#include <fulgurite/detail/restore_macros.h>
