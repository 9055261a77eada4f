#include <fulgurite/fulgurite.h>

#include "support/programs/record.h"
#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::test;

TEST("order and selection say what is wrong with their arguments") {
  const Tensor x = arange(6.0).reshape({2, 3});
  const Tensor flags = x > 2;
  expect_error([&] { sort(x, 2); }, "dim 2 is out of range");
  expect_error([&] { topk(x, 4); }, "k is 4, dimension 1 has 3 elements");
  expect_error([&] { topk(x, -1); }, "k is -1, dimension 1 has 3 elements");
  expect_error([&] { topk(flags, 1); }, "not defined for booleans");
  expect_error([&] { kthvalue(x, 0); }, "k is 0, dimension 1 has 3 elements");
  expect_error([&] { kthvalue(x, 3, 0); }, "k is 3, dimension 0 has 2 elements");
  expect_error([&] { median(zeros({2, 0}), 1); }, "dimension 1 has no elements");
  expect_error([&] { median(zeros({0}, {.dtype = Dtype::i64})); }, "the median of no integers is not defined");
  expect(std::isnan(median(zeros({0})).item<double>()));
  expect_equal(std::get<0>(median(zeros({2, 0}), 0)).shape(), Shape{0});
  expect_equal(std::get<1>(topk(zeros({3, 0}), 0)).shape(), Shape{3, 0});
  expect_equal(argsort(tensor({3, 1, 2}), -1, true).to_vector<int64_t>(), std::vector<int64_t>{0, 2, 1});
}

TEST("running results say what is wrong with their arguments") {
  const Tensor whole = tensor({1, 2});
  expect_error([&] { logcumsumexp(whole, 0); }, "needs a floating dtype, not i64");
  expect_error([&] { cumprod(whole, 1); }, "dim 1 is out of range");
  expect_error([&] { cummax(whole, -2); }, "dim -2 is out of range");
  expect_equal(cumprod(tensor({2, 3}).to(Dtype::i8), 0).dtype(), Dtype::i64);
  expect_equal(cumprod(zeros({2, 0}), 1).shape(), Shape{2, 0});
}

TEST("searchsorted and bucketize say what is wrong with their arguments") {
  const Tensor rows = arange(6.0).reshape({2, 3}), row = arange(3.0);
  expect_error([&] { searchsorted(rows, 1.0); },
               "a single number is looked for in a sorted_sequence of one dimension, not of 2");
  expect_error(
      [&] {
        searchsorted(rows, zeros({3, 3}));
      },
      "sorted_sequence [2, 3] and input [3, 3] must agree but for the last dimension");
  expect_error([&] { searchsorted(zeros({}), row); }, "sorted_sequence needs at least 1 dimension");
  expect_error([&] { searchsorted(row, row, false, true, "left"); }, "side is \"left\" and right is True");
  expect_error([&] { searchsorted(row, row, false, false, "middle"); },
               "side must be \"left\" or \"right\", got \"middle\"");
  expect_error(
      [&] {
        searchsorted(row, row, false, false, {}, tensor({0, 1}));
      },
      "sorter has shape [2], sorted_sequence [3]");
  expect_error([&] { searchsorted(row, row, false, false, {}, row); }, "sorter must be i64, got f32");
  expect_error([&] { bucketize(row, rows); }, "boundaries must have 1 dimension, got 2");
  expect_equal(bucketize(1.5, row).item<int64_t>(), 2);
  expect_equal(searchsorted(zeros({0}), row).to_vector<int64_t>(), std::vector<int64_t>{0, 0, 0});
}

TEST("one_hot finds the number of classes where elements are known") {
  const Tensor classes = tensor({0, 2, 1});
  expect_equal(nn::one_hot(classes).to_vector<int64_t>(), std::vector<int64_t>{1, 0, 0, 0, 0, 1, 0, 1, 0});
  expect_equal(nn::one_hot(classes, 4).shape(), Shape{3, 4});
  expect_equal(nn::one_hot(zeros({2, 0}, {.dtype = Dtype::i64}), 3).shape(), Shape{2, 0, 3});
  const auto function = [](Tensor x) { return nn::one_hot(x); };
  expect_equal(jit(function)(classes).to_vector<int64_t>(), nn::one_hot(classes).to_vector<int64_t>());
  expect_error([&] { jit(function, {.fullgraph = true})(classes); }, "cannot be made with fullgraph = true");
  expect_error([&] { nn::one_hot(classes, 2); }, "class numbers must be smaller than num_classes, got 2 for 2 classes");
  expect_error([&] { nn::one_hot(tensor({1, -1})); }, "class numbers must not be negative, got -1");
  expect_error([&] { nn::one_hot(tensor({-3, -1})); }, "class numbers must not be negative, got -3");
  expect_error([&] { nn::one_hot(classes, 0); }, "num_classes must be positive, got 0");
  expect_error([&] { nn::one_hot(zeros({0}, {.dtype = Dtype::i64})); },
               "the number of classes of no elements is not known");
  expect_error([&] { nn::one_hot(zeros({2})); }, "class numbers must be i64, got f32");
}

TEST("unfold is a view of all windows") {
  Tensor x = arange(7.0);
  const Tensor windows = x.unfold(0, 3, 2);
  expect_equal(windows.shape(), Shape{3, 3});
  x(4) = 9;
  expect_near(windows.to_vector<float>(), {0, 1, 2, 2, 3, 9, 9, 5, 6});
  expect_equal(zeros({2, 5}).unfold(1, 0, 2).shape(), Shape{2, 3, 0});
  expect_equal(zeros({}).unfold(0, 1, 1).shape(), Shape{1});
  expect_error([&] { x.unfold(0, 8, 1); }, "a window of size 8 is longer than the dimension, 7");
  expect_error([&] { x.unfold(0, -1, 1); }, "size is negative: -1");
  expect_error([&] { x.unfold(0, 2, 0); }, "step must be positive, got 0");
  expect_error([&] { x.unfold(1, 2, 1); }, "dim 1 is out of range");
}

TEST("local_response_norm takes integers as PyTorch does and refuses what has no channels") {
  const Tensor x = full({1, 3, 2}, 7);
  expect_near(nn::local_response_norm(x, 2, 1, 1, 0).to_vector<float>(),
              {7.0 / 24, 7.0 / 24, 1.0 / 7, 1.0 / 7, 1.0 / 7, 1.0 / 7});
  expect_equal(nn::local_response_norm(zeros({0, 1, 2}, {.dtype = Dtype::i64}), 1).dtype(), Dtype::i64);
  expect_error([&] { nn::local_response_norm(zeros({2, 3}), 2); }, "needs at least 3 dimensions, got 2");
  expect_error([&] { nn::local_response_norm(zeros({2, 3, 4}), 0); }, "size must be positive, got 0");
}

TEST("scatter_reduce says what is wrong with its arguments") {
  const Tensor x = zeros({2, 3}), index = zeros({2, 3}, {.dtype = Dtype::i64});
  expect_error([&] { scatter_reduce(x, 0, index, x, "max"); },
               "reduce must be \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", got \"max\"");
  expect_error([&] { scatter_reduce(x, 0, index + 2, x, "sum"); },
               "an index tensor holds 2, which is out of range for a dimension of size 2");
  expect_error([&] { scatter_reduce(x > 0, 0, index, x > 0, "mean"); }, "there is no mean of booleans");
  expect_error([&] { scatter_reduce(x, 0, index, index, "sum"); }, "the source is i64, the tensor f32");
}
