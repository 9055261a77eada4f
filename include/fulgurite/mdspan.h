#pragma once
// Tensors as std::mdspan without a copy. The header is not part of fulgurite.h: it needs C++23's <mdspan>, or the
// reference implementation for earlier compilers (<mdspan/mdspan.hpp> or <experimental/mdspan>,
// github.com/kokkos/mdspan).
#include <fulgurite/detail/requirements.h>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
namespace fulgurite::detail::mdspan_library {
using namespace std;  // NOLINT(google-build-using-namespace): the two names below are looked up in it
}
#elif __has_include(<mdspan/mdspan.hpp>)
#include <mdspan/mdspan.hpp>
namespace fulgurite::detail {
namespace mdspan_library = ::MDSPAN_IMPL_STANDARD_NAMESPACE;
}
#elif __has_include(<experimental/mdspan>)
#include <experimental/mdspan>
namespace fulgurite::detail {
namespace mdspan_library = ::std::experimental;
}
#else
#error \
    "fulgurite/mdspan.h needs <mdspan> (C++23), <mdspan/mdspan.hpp> or <experimental/mdspan> (github.com/kokkos/mdspan)"
#endif

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fulgurite/error.h>
#include <fulgurite/tensor.h>

#include <fulgurite/detail/hide_macros.h>

namespace fulgurite {

/// The type that as_mdspan() returns: extents of i64, strides of the tensor.
template <class T, size_t dims>
using TensorSpan = detail::mdspan_library::mdspan<T, detail::mdspan_library::dextents<int64_t, dims>,
                                                  detail::mdspan_library::layout_stride>;

/// `as_mdspan<float, 2>(x)`: the elements by their indexes; valid while the tensor is, and writes through it are not
/// recorded. UserError on another dtype or number of dimensions.
template <class T, size_t dims>
TensorSpan<T, dims> as_mdspan(const Tensor& tensor, SourceLocation at = SourceLocation::here()) {
  T* const first = tensor.data<T>(at);
  if (tensor.ndim() != static_cast<int64_t>(dims))
    throw UserError(
        "as_mdspan: the tensor has " + std::to_string(tensor.ndim()) + " dimensions, the span " + std::to_string(dims),
        at);
  std::array<int64_t, dims> sizes{}, steps{};
  const Shape shape = tensor.shape();
  const std::vector<Int> strides = tensor.strides();
  for (size_t d = 0; d < dims; ++d) {
    sizes[d] = shape[d];
    steps[d] = strides[d];
  }
  using Mapping = typename TensorSpan<T, dims>::mapping_type;
  return TensorSpan<T, dims>(first, Mapping(detail::mdspan_library::dextents<int64_t, dims>(sizes), steps));
}

}  // namespace fulgurite

#include <fulgurite/detail/restore_macros.h>
