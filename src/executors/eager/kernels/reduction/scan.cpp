// cumsum.
#include "executors/eager/kernels/common/compute.h"
#include "executors/eager/kernels/common/lines.h"
#include "ops/generated/symbols.h"
#include "runtime/threads/parallel_for.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

constexpr int64_t side_by_side = 64;  // lines that are added up together if they are neighbours

template <class T>
using Total = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

/// Adds up `lines` interleaved lines; floating sums are accumulated in f64, as in PyTorch.
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
/// Four lines in turn, any distance apart: each addition waits for the one before it, but the four lines are
/// independent.
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
void cumulate(const Tensor& input, const Tensor& result, int64_t dim) {
  const Lines<2> lines(dim, result, input);
  const int64_t length = lines.length[0], to_step = lines.step[0], from_step = lines.step[1];
  const int64_t to_line = lines.to_neighbour(0), from_line = lines.to_neighbour(1);
  const bool neighbours = to_line == 1 && to_step != 1;
  const int64_t group = neighbours ? side_by_side : 4;
  parallel_for(lines.groups(group), std::max<int64_t>(1, 16384 / (length * group)), [&](int64_t begin, int64_t end) {
    lines.visit_groups(group, begin, end, [&](const int64_t* first, int64_t count, int64_t) {
      const T* const source = data_of<T>(input) + first[1];
      T* const destination = data_of<T>(result) + first[0];
      if (neighbours) {
        add_up(source, from_step, from_line, destination, to_step, length, count);
      } else if (count == 4) {
        add_up_four(source, from_step, from_line, destination, to_step, to_line, length);
      } else {
        for (int64_t line = 0; line < count; ++line)
          add_up(source + line * from_line, from_step, from_line, destination + line * to_line, to_step, length, 1);
      }
    });
  });
}

void cumsum(Arguments arguments, std::span<const Tensor> results) {
  Tensor input = arguments[0].tensor();
  const TensorImpl& result = *results[0].impl();
  if (result.numel() == 0) return;
  if (input.impl()->dtype != result.dtype) {
    // Elements are converted to the result's type first, so that the dtype argument has its effect.
    const Tensor converted = make_tensor(result.sizes, result.dtype);
    copy_elements(input, converted);
    input = converted;
  }
  visit_element_type(result.dtype, [&](auto type) {
    cumulate<typename decltype(type)::type>(input, results[0], arguments[1].integer());
  });
}

constexpr KernelEntry table[] = {{&cumsum_symbol, cumsum}};

}  // namespace

KernelTable scan_kernels() { return table; }

}  // namespace fulgurite::FULGURITE_KERNELS
