// The reference implementation of mdspan is in no package of Debian 12: the test is empty where there is none.
#include <version>

#if defined(__cpp_lib_mdspan) || __has_include(<mdspan/mdspan.hpp>) || __has_include(<experimental/mdspan>)
#include <fulgurite/mdspan.h>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

TEST("a span has the tensor's elements, sizes and strides") {
  const Tensor x = arange(6, {.dtype = Dtype::f32}).reshape({2, 3});
  const auto span = as_mdspan<float, 2>(x.t());
  expect_equal(static_cast<int64_t>(span.extent(0)), int64_t{3});
  float sum = 0;
  for (int64_t i = 0; i < 3; ++i) sum += (*(span.data_handle() + span.mapping()(i, 1)));
  expect_equal(sum, 12.0f);
  expect_error([&] { as_mdspan<float, 3>(x); }, "as_mdspan: the tensor has 2 dimensions, the span 3");
}
#endif
