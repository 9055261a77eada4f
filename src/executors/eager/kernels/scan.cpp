// cumsum.
#include <algorithm>

#include "executors/eager/kernels.h"
#include "executors/eager/kernels/elements.h"
#include "executors/eager/kernels/strided.h"
#include "ops/dispatch.h"
#include "ops/symbols.h"
#include "runtime/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t side_by_side = 64;  // lines that are added up together where they are neighbours

template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

/// Adds up `lines` lines whose elements lie side by side; floating sums are kept in f64, as PyTorch's are.
template <class T>
void add_up(const T* from, int64_t from_step, int64_t from_line, T* to, int64_t to_step, int64_t length,
            int64_t lines) {
  Total<T> totals[side_by_side] = {};
  for (int64_t i = 0; i < length; ++i, from += from_step, to += to_step)
    for (int64_t line = 0; line < lines; ++line) {
      totals[line] += static_cast<Total<T>>(number_of(from[line * from_line]));
      to[line] = element_of<T>(totals[line]);
    }
}
/// Four lines in turn, any distance apart: each addition waits for the one before it, those of four lines do not.
template <class T>
void add_up_four(const T* from, int64_t from_step, int64_t from_line, T* to, int64_t to_step, int64_t to_line,
                 int64_t length) {
  Total<T> a = 0, b = 0, c = 0, d = 0;
  for (int64_t i = 0; i < length; ++i, from += from_step, to += to_step) {
    to[0] = element_of<T>(a += static_cast<Total<T>>(number_of(from[0])));
    to[to_line] = element_of<T>(b += static_cast<Total<T>>(number_of(from[from_line])));
    to[2 * to_line] = element_of<T>(c += static_cast<Total<T>>(number_of(from[2 * from_line])));
    to[3 * to_line] = element_of<T>(d += static_cast<Total<T>>(number_of(from[3 * from_line])));
  }
}

template <class T>
void cumulate(const TensorImpl& input, const TensorImpl& result, size_t dim) {
  // All dimensions but `dim`, whose lines are spread over the threads; the last one's lines are neighbours.
  StridedLoop<2> lines{input.sizes, {result.strides, input.strides}};
  const int64_t length = input.sizes[dim], to_step = result.strides[dim], from_step = input.strides[dim];
  lines.sizes.erase(dim);
  for (Sizes& strides : lines.strides) strides.erase(dim);
  lines.merge_dimensions();
  const bool neighbours = lines.strides[0].back() == 1 && to_step != 1;
  const int64_t row = lines.row_length(), group = neighbours ? side_by_side : 4, groups = (row + group - 1) / group;
  const int64_t to_line = lines.strides[0].back(), from_line = lines.strides[1].back();
  parallel_for(
      lines.row_count() * groups, std::max<int64_t>(1, 16384 / (length * group)), [&](int64_t begin, int64_t end) {
        RowPosition<2> position(lines, begin / groups);
        for (int64_t task = begin; task < end; ++task) {
          const int64_t first = task % groups * group, count = std::min(group, row - first);
          const T* source = reinterpret_cast<const T*>(input.data()) + position.offsets[1] + first * from_line;
          T* destination = reinterpret_cast<T*>(result.data()) + position.offsets[0] + first * to_line;
          if (neighbours) {
            add_up(source, from_step, from_line, destination, to_step, length, count);
          } else if (count == 4) {
            add_up_four(source, from_step, from_line, destination, to_step, to_line, length);
          } else {
            for (int64_t line = 0; line < count; ++line)
              add_up(source + line * from_line, from_step, from_line, destination + line * to_line, to_step, length, 1);
          }
          if ((task + 1) % groups == 0) position.advance();
        }
      });
}

void cumsum(Arguments arguments, std::span<const Tensor> results) {
  Tensor input = arguments[0].tensor();
  const TensorImpl& result = *results[0].impl();
  if (result.numel() == 0) return;
  if (result.sizes.empty()) return copy_elements(input, results[0]);
  const size_t dim = normalize_dim(arguments[1].integer().hint(), static_cast<int64_t>(result.sizes.size()));
  if (input.impl()->dtype != result.dtype) {
    // Elements pass through the result's own type first, so that a dtype asked for counts.
    const Tensor converted = make_tensor(result.sizes, result.dtype);
    copy_elements(input, converted);
    input = converted;
  }
  visit_element_type(result.dtype,
                     [&](auto type) { cumulate<typename decltype(type)::type>(*input.impl(), result, dim); });
}

constexpr KernelEntry table[] = {{&cumsum_symbol, cumsum}};

}  // namespace

KernelTable scan_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
