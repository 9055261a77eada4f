#include "runtime/copy_elements.h"

#include "executors/reference.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("contiguous gives the elements of any view in order") {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::u8}) {
    const Tensor x = make({5, 70, 37}, dtype, 0, 200);
    const Tensor views[] = {transpose(x, 1, 2),
                            permute(x, {2, 1, 0}),
                            permute(x, {1, 0, 2}),
                            permute(x, {2, 0, 1}),
                            narrow(transpose(x, 0, 2), 1, 5, 33),
                            expand(narrow(x, 0, 2, 1), {4, 70, 37}),
                            select(x, 2, 9)};
    for (const Tensor& view : views) {
      const Tensor copy = view.contiguous();
      expect(copy.is_contiguous());
      expect_equal(elements(copy), elements(view));
      expect_equal(elements(clone(view)), elements(view));
      expect_equal(elements(reshape(view, {-1})), elements(view));
    }
  }
}

TEST("a copy writes into any strides, of another dtype, broadcast") {
  const Tensor source = make({6, 35}, Dtype::f32, -9, 9);
  const Tensor storage = zeros({35, 6, 2}, {.dtype = Dtype::f64});
  const Tensor destination = transpose(select(storage, 2, 1), 0, 1);
  copy_elements(source, destination);
  expect_equal(elements(destination), elements(source));
  expect_equal(elements(select(storage, 2, 0)), std::vector<double>(210, 0.0));
  copy_elements(narrow(source, 1, 3, 1), destination);
  expect_equal(elements(destination), elements(expand(narrow(source, 1, 3, 1), {6, 35})));
}

TEST("copies between overlapping views read everything first") {
  const Tensor x = arange(100);
  copy_elements(narrow(x, 0, 0, 90), narrow(x, 0, 10, 90));
  std::vector<double> expected;
  for (int i = 0; i < 100; ++i) expected.push_back(i < 10 ? i : i - 10);
  expect_equal(elements(x), expected);
  const Tensor square = reshape(arange(16), {4, 4});
  const std::vector<double> transposed = elements(transpose(square, 0, 1));
  copy_elements(transpose(square, 0, 1), square);
  expect_equal(elements(square), transposed);
}
