// scatter_reduce. In the order of the indices, on one thread, so that results do not depend on the number of threads;
// 16-bit floats are accumulated in f32.
#include <limits>

#include "executors/eager/kernels/common/indexed.h"
#include "ops/generated/symbols.h"

namespace fulgurite::FULGURITE_KERNELS {
namespace {

struct Add {
  template <class T>
  static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  }
};
struct Multiply {
  template <class T>
  static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
  }
};
struct Larger {
  template <class T>
  static T join(T a, T b) {
    return b > a || b != b ? b : a;
  }
};
struct Smaller {
  template <class T>
  static T join(T a, T b) {
    return b < a || b != b ? b : a;
  }
};

/// The offsets of each source element and its destination.
struct Moves {
  Moves(const Tensor& result, int64_t dim, const Tensor& index, const Tensor& source)
      : count(index.impl()->numel()), from(count), to(count) {
    const OffsetsAlong places(result, dim, index, source);
    int64_t next = 0;
    places.visit_rows(
        [&](int64_t at, int64_t other, int64_t step, int64_t other_step, const auto& place, int64_t row) {
          for (int64_t j = 0; j < row; ++j, ++next) {
            to[next] = at + j * step + place(j);
            from[next] = other + j * other_step;
          }
        },
        false);
  }
  int64_t count;
  Scratch<int64_t> from, to;
};

template <class Join, class T, class Element>
void join_all(const Moves& moves, const Element* source, T* result) {
  for (int64_t i = 0; i < moves.count; ++i) {
    T& to = result[moves.to[i]];
    to = Join::join(to, static_cast<T>(widen(source[moves.from[i]])));
    if constexpr (std::is_same_v<Element, Boolean>) to = to != 0;
  }
}

/// The initial value of an element before the first source comes: the result's own is not included.
template <class T>
T neutral(std::string_view reduce) {
  if (reduce == "prod") return 1;
  using Limits = std::numeric_limits<T>;
  const bool has_infinity = Limits::has_infinity;
  if (reduce == "amax") return has_infinity ? -Limits::infinity() : Limits::lowest();
  if (reduce == "amin") return has_infinity ? Limits::infinity() : Limits::max();
  return 0;
}

template <class T>
void divide(T& sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const int64_t whole = static_cast<int64_t>(sum), quotient = whole / count;
    sum = static_cast<T>(quotient - (whole % count != 0 && whole < 0));
  } else {
    sum /= static_cast<T>(count);
  }
}

/// `result` holds the input, in the type that `Element` is computed in.
template <class Element, class T>
void reduce(const Moves& moves, const Element* source, T* result, int64_t size, std::string_view reduce,
            bool includes_input) {
  if (!includes_input)
    for (int64_t i = 0; i < moves.count; ++i) result[moves.to[i]] = neutral<T>(reduce);
  if (reduce == "prod") return join_all<Multiply>(moves, source, result);
  if (reduce == "amax") return join_all<Larger>(moves, source, result);
  if (reduce == "amin") return join_all<Smaller>(moves, source, result);
  join_all<Add>(moves, source, result);
  if (reduce == "sum") return;
  const Scratch<int64_t> counts(size);
  for (int64_t i = 0; i < size; ++i) counts[i] = includes_input;
  for (int64_t i = 0; i < moves.count; ++i) ++counts[moves.to[i]];
  for (int64_t i = 0; i < size; ++i)
    if (counts[i] > 1) divide(result[i], counts[i]);
}

void scatter_reduce_kernel(Arguments arguments, std::span<const Tensor> results) {
  const Tensor &result = results[0], &index = arguments[2].tensor(), &source = arguments[3].tensor();
  copy_elements(arguments[0].tensor(), result);
  if (index.impl()->numel() == 0) return;
  const Dtype dtype = result.impl()->dtype;
  const bool is_short = is_floating(dtype) && size_of(dtype) == 2;
  const Tensor work = is_short ? make_tensor(sizes_of(result), Dtype::f32) : result;
  if (is_short) copy_elements(result, work);
  const Moves moves(work, arguments[1].integer(), index, source);
  visit_dtype(dtype, [&]<class Element>() {
    reduce(moves, data_of<Element>(source), data_of<Compute<Element>>(work), work.impl()->numel(),
           arguments[4].string(), arguments[5].boolean());
  });
  if (is_short) copy_elements(work, result);
}

}  // namespace

KernelTable scatter_reduce_kernels() {
  static constexpr KernelEntry table[] = {{&scatter_reduce_symbol, scatter_reduce_kernel}};
  return table;
}

}  // namespace fulgurite::FULGURITE_KERNELS
