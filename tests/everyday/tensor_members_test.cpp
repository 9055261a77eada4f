#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;
using namespace fulgurite::indexing;

// Members that programs for LibTorch use; the values are PyTorch's.

namespace {

std::vector<double> numbers(const Tensor& x) { return x.detach().to(Dtype::f64).contiguous().to_vector<double>(); }
using Doubles = std::vector<double>;
Tensor counted(const Dims& shape) { return arange(shape.numel(), {.dtype = Dtype::f32}).reshape(shape); }

}  // namespace

TEST("members: strides, sizes in bytes and properties of dtypes") {
  const Tensor x = counted({2, 3, 4}), view = x(1, Slice(), Slice(1, None, 2));
  expect_equal(x.stride(0), 12);
  expect_equal(x.stride(-1), 1);
  expect_equal(view.stride(0), 4);
  expect_equal(view.stride(1), 2);
  expect_equal(view.storage_offset(), 13);
  expect_equal(x.itemsize(), 4);
  expect_equal(x.element_size(), 4);
  expect_equal(x.nbytes(), 96);
  expect_equal(x.to(kFloat64).nbytes(), 192);
  expect_equal(x.scalar_type(), kFloat32);
  expect_equal(x.ndimension(), 3);
  expect(x.is_floating_point() && !tensor({1}).is_floating_point() && is_floating_point(x));
  expect(!x.is_complex() && !x.is_sparse() && x.is_cpu() && !x.is_cuda());
  expect(x.is_signed() && tensor({1}).is_signed() && !tensor({true}).is_signed());
  expect(x.is_same_size(x * 2) && !x.is_same_size(view));
  expect_equal(*tensor({true}).options().dtype, kBool);
  expect_equal(zeros({2}, tensor({1}).options()).dtype(), kInt64);
  expect_error([&] { x.stride(3); }, "stride(3) of cpu f32[2, 3, 4]: dimension out of range");
  expect_error([&] { Tensor().storage_offset(); }, "storage_offset() of an undefined tensor");
}

TEST("members: conversions take a dtype, a device, options or another tensor") {
  const Tensor x = tensor({1.5, -2.5}), like = tensor(std::vector<int32_t>{1});
  expect_equal(numbers(x.type_as(like)), Doubles{1, -2});
  expect_equal(x.to(like).dtype(), kInt32);
  expect_equal(x.to(kCPU, kFloat64).dtype(), kFloat64);
  expect_equal(x.to(TensorOptions{.dtype = kHalf}).dtype(), kFloat16);
  expect_equal(x.to(TensorOptions()).dtype(), kFloat32);
  expect_equal(x.toType(kLong).dtype(), kInt64);
  expect(x.cpu().is_same(x));
  expect_error([&] { x.type_as(Tensor()); }, "type_as: the other tensor is undefined");
}

TEST("members: transposes and slices are views with gradients") {
  const Tensor x = counted({2, 3, 4}).requires_grad_();
  expect_equal(x.mT().shape(), Shape{2, 4, 3});
  expect_equal(x.T().shape(), Shape{4, 3, 2});
  expect_equal(x.T()(3, 0, 1).item<float>(), 15.f);
  expect_equal(numbers(x.slice(1, 1, None, 2)), Doubles{4, 5, 6, 7, 16, 17, 18, 19});
  expect_equal(numbers(x.slice(0, 1)(0, 0)), Doubles{12, 13, 14, 15});
  expect_equal(x.slice(-1, 1, -1).shape(), Shape{2, 3, 2});
  sum(x.slice(2, 0, 1) * 2).backward();
  expect_equal(sum(x.grad()).item<float>(), 12.f);
  expect_error([] { counted({3}).mT(); }, "mT of cpu f32[3]: it needs at least two dimensions");
  expect_error([&] { x.slice(3); }, "slice at dimension 3 of cpu f32[2, 3, 4]: dimension out of range");
}

TEST("members: index and index_put_ with LibTorch's lists") {
  const Tensor x = counted({3, 4});
  expect_equal(numbers(x.index({1})), Doubles{4, 5, 6, 7});
  expect_equal(numbers(x.index({Slice(1, None), 0})), Doubles{4, 8});
  expect_equal(numbers(x.index({"...", Slice(None, None, 3)})), Doubles{0, 3, 4, 7, 8, 11});
  expect_equal(x.index({Ellipsis, None, -1}).shape(), Shape{3, 1});
  expect_equal(numbers(x.index({x > 8.5})), Doubles{9, 10, 11});
  expect_equal(numbers(x.index({tensor({2, 0}), tensor({1, 3})})), Doubles{9, 3});
  const Tensor y = x.clone();
  y.index_put_({0, Slice(0, 2)}, -1.0);
  y.index_put_({y > 10.0}, 0);
  y.index_put_({Slice(), 3}, tensor({7.0, 8.0, 9.0}));
  expect_equal(numbers(y), Doubles{-1, -1, 2, 7, 4, 5, 6, 8, 8, 9, 10, 9});
  const Tensor counts = zeros({2, 3});
  counts.index_put_({tensor({1, 1, 0}), tensor({2, 2, 0})}, tensor({1.0, 2.0, 5.0}), true);
  expect_equal(numbers(counts), Doubles{5, 0, 0, 0, 0, 3});
  counts.index_put_({Slice(), tensor({1, 1})}, tensor(1.0), true);
  expect_equal(numbers(counts), Doubles{5, 2, 0, 0, 2, 3});
  expect_error([&] { x.index({"…"}); }, "an index that is a text must be \"...\"");
  expect_error([&] { x.index({}); }, "index: there are no indices");
}

TEST("members: index_put_ keeps gradients and works in jit") {
  const auto update = [](const Tensor& x, const Tensor& v) {
    const Tensor y = x * 1;
    y.index_put_({tensor({0, 0})}, v, true);
    y.index_put_({1, Slice(1, None)}, v(0));
    return sum(y * y);
  };
  const Tensor x = counted({2, 2}).requires_grad_(), v = tensor({1.0, 2.0}).requires_grad_();
  const Tensor w = x.detach().clone().requires_grad_(), u = v.detach().clone().requires_grad_();
  const Tensor eager = update(x, v), compiled = jit(update)(w, u);
  expect_equal(compiled.item<float>(), eager.item<float>());
  eager.backward();
  compiled.backward();
  expect_equal(numbers(w.grad()), numbers(x.grad()));
  expect_equal(numbers(u.grad()), numbers(v.grad()));
  expect_equal(numbers(x.grad()), Doubles{4, 10, 4, 0});
}

TEST("members: new tensors have the dtype of the old one") {
  const Tensor x = tensor(std::vector<double>{1, 2});
  expect_equal(x.new_zeros({2, 2}).dtype(), kDouble);
  expect_equal(numbers(x.new_ones(3)), Doubles{1, 1, 1});
  expect_equal(numbers(x.new_full({2}, 7)), Doubles{7, 7});
  expect_equal(x.new_empty({0, 3}).shape(), Shape{0, 3});
  expect_equal(x.new_tensor({1, 2}).dtype(), kDouble);
  expect_equal(x.new_zeros({1}, {.dtype = kInt64}).dtype(), kInt64);
  expect(x.new_ones({1}, {.requires_grad = true}).requires_grad());
  expect_error([] { Tensor().new_zeros({1}); }, "new_zeros: the tensor is undefined");
}

TEST("members: changes of a tensor's sizes are seen by all of its handles") {
  const Tensor x = counted({2, 3}), same = x;
  x.unsqueeze_(0);
  expect_equal(same.shape(), Shape{1, 2, 3});
  x.squeeze_().t_();
  expect_equal(same.shape(), Shape{3, 2});
  expect_equal(numbers(same), Doubles{0, 3, 1, 4, 2, 5});
  expect_equal(numbers(x.transpose_(0, 1)), Doubles{0, 1, 2, 3, 4, 5});
  x.swapaxes_(0, -1);
  expect_equal(x.stride(0), 1);
  const Tensor y = counted({4}), part = y(Slice(1, 3));
  y.resize_({2});
  expect_equal(numbers(y), Doubles{0, 1});
  y.resize_({2, 4});
  y(1) = 9;
  expect_equal(numbers(y), Doubles{0, 1, 2, 3, 9, 9, 9, 9});
  expect_equal(numbers(part), Doubles{1, 2});
  expect_equal(part.resize_as_(zeros({3})).shape(), Shape{3});
  expect_equal(numbers(part), Doubles{1, 2, 3});
}

TEST("members: changes of sizes say what to do with gradients and in jit") {
  const Tensor x = ones({2, 3}).requires_grad_();
  expect_error([&] { x.t_(); }, "t_ of cpu f32[2, 3], which requires a gradient; assign the result of t instead");
  expect_error([&] { (x * 2).unsqueeze_(0); },
               "unsqueeze_ of cpu f32[2, 3], which requires a gradient; assign the result of unsqueeze instead");
  const auto in_jit = jit([](const Tensor& y) {
    Tensor z = y * 2;
    z.resize_({3});
    return z;
  });
  expect_error([&] { in_jit(ones({3})); }, "resize_ of a value of a trace; assign the result of resize instead");
  expect_error([&] { ones({1}).resize_({-1}); }, "negative");
}

TEST("members: detach_ ends a history") {
  const Tensor x = ones({2}).requires_grad_();
  const Tensor state = x * 3;
  expect(state.requires_grad() && !state.is_leaf());
  state.detach_();
  expect(!state.requires_grad() && state.is_leaf());
  sum(state * x).backward();
  expect_equal(numbers(x.grad()), Doubles{3, 3});
  x.detach_();
  expect(!x.requires_grad());
  const Tensor w = ones({2, 2}).requires_grad_(), view = w(0);
  expect_error([&] { view.detach_(); }, "detach_ of cpu f32[2], a view; assign the result of detach instead");
}

TEST("members: comparisons and selections") {
  const Tensor x = counted({2, 3}), mask = x > 2.5;
  expect(x.equal(counted({2, 3})) && !x.equal(x + 1));
  expect(x.allclose(x + 1e-9) && !x.allclose(x + 1));
  expect_equal(numbers(x.nonzero()), Doubles{0, 1, 0, 2, 1, 0, 1, 1, 1, 2});
  expect_equal(x.argwhere().shape(), Shape{5, 2});
  expect_equal(numbers(x.masked_select(mask)), Doubles{3, 4, 5});
  expect_equal(numbers(x.masked_scatter(mask, tensor({7.0, 8.0, 9.0}))), Doubles{0, 1, 2, 7, 8, 9});
  x.masked_scatter_(mask, tensor({7.0, 8.0, 9.0}));
  expect_equal(numbers(x), Doubles{0, 1, 2, 7, 8, 9});
  expect_equal(numbers(x.take_along_dim(tensor({{2}, {0}}), 1)), Doubles{2, 7});
  expect_equal(x.unfold(1, 2, 1).shape(), Shape{2, 2, 2});
  expect_equal(numbers(tensor({0, 2, 2}).bincount()), Doubles{1, 0, 2});
  expect_equal(numbers(tensor({0.0, 1.0, 3.0}).histc(2, 0, 4)), Doubles{2, 1});
}

TEST("members: compositions") {
  const Tensor x = tensor({{1.0, 2.0, 4.0}, {3.0, 5.0, 9.0}});
  expect_equal(numbers(x.diff()), Doubles{1, 2, 2, 4});
  expect_near(x.dist(zeros({2, 3})).item<double>(), 11.6619, 1e-4);
  expect_equal(numbers(x(0).cross(x(1))), Doubles{-2, 3, -1});
  expect_equal(numbers(x.fliplr()), Doubles{4, 2, 1, 9, 5, 3});
  expect_equal(numbers(x.flipud()), Doubles{3, 5, 9, 1, 2, 4});
  expect_equal(x.rot90().shape(), Shape{3, 2});
  expect_equal(x.tensor_split(2, 1)[0].shape(), Shape{2, 2});
  expect_equal(x.tensor_split({1, 2}, 1)[1].shape(), Shape{2, 1});
  expect_near(x.quantile(0.5).item<double>(), 3.5);
  expect_equal(tensor({1.0, NAN}).nansum().item<float>(), 1.f);
  expect_equal(tensor({1.0, NAN}).nanmean().item<float>(), 1.f);
  expect_equal(x.cov().shape(), Shape{2, 2});
  expect_equal(x.corrcoef().shape(), Shape{2, 2});
  expect_equal(numbers(tensor({{1.0, 1.0}, {0.0, 1.0}}).matrix_power(3)), Doubles{1, 3, 0, 1});
}

TEST("members: draws into a tensor") {
  manual_seed(4);
  const Tensor x = empty({2000});
  expect_near(x.normal_(1, 2).mean().item<double>(), 1, 0.2);
  expect_near(x.uniform_(-1, 3).mean().item<double>(), 1, 0.2);
  expect_near(x.exponential_(2).mean().item<double>(), 0.5, 0.1);
  expect_near(x.log_normal_(0, 0.5).log().mean().item<double>(), 0, 0.1);
  expect_near(x.cauchy_(3).median().item<double>(), 3, 0.3);
  expect_near(x.geometric_(0.5).mean().item<double>(), 2, 0.3);
  expect_near(x.bernoulli_(0.25).mean().item<double>(), 0.25, 0.1);
  expect_near(x.bernoulli_(full({2000}, 0.75)).mean().item<double>(), 0.75, 0.1);
  expect_near(full({2000}, 0.5).bernoulli().mean().item<double>(), 0.5, 0.1);
  expect_near(x.random_(2, 5).mean().item<double>(), 3, 0.2);
  expect_equal(x.random_(3).max().item<double>(), 2);
  expect_equal(tensor({false, false}).random_().dtype(), kBool);
  expect_equal(numbers(tensor({0.0, 1.0}).multinomial(2, true)), Doubles{1, 1});
  const Tensor first = empty({3}), second = empty({3});
  first.normal_(0, 1, Generator(7));
  second.normal_(0, 1, Generator(7));
  expect(first.equal(second));
  first.uniform_(0, 1, Generator(8));
  second.uniform_(0, 1, Generator(8));
  expect(first.equal(second));
}

TEST("members: functions and guards beside tensors") {
  expect_equal(numbers(range(1, 2, 0.25)), Doubles{1, 1.25, 1.5, 1.75, 2});
  expect_equal(numbers(range(3, 1, -1, {.dtype = kInt64})), Doubles{3, 2, 1});
  expect_error([] { range(0, 1, -1); }, "range: step must lead from start to end: 0.0, 1.0, -1.0");
  const Tensor strided = empty_strided({2, 3}, {1, 2});
  expect_equal(strided.stride(1), 2);
  strided.copy_(counted({2, 3}));
  expect_equal(numbers(strided), Doubles{0, 1, 2, 3, 4, 5});
  expect(empty_strided({2}, {1}, {.requires_grad = true}).requires_grad());
  expect_equal(empty_strided({0, 2}, {1, 1}).shape(), Shape{0, 2});
  expect_error([] { empty_strided({2}, {1, 1}); }, "empty_strided: size has 1 numbers and stride 2");
  expect_error([] { empty_strided({2}, {-1}); }, "empty_strided: sizes and strides must not be negative");
  expect_equal(get_num_threads(), num_threads());
  const Tensor x = ones({1}).requires_grad_();
  {
    const AutoGradMode off(false);
    expect(!is_grad_enabled() && !(x * 2).requires_grad());
    const AutoGradMode on(true);
    expect(is_grad_enabled() && (x * 2).requires_grad());
  }
  const NoGradGuard guard;
  expect(!(x * 2).requires_grad());
}

TEST("members: a view's one element is read") {
  const Tensor x = counted({3, 4}).t();
  expect_equal(x(2, 1).item<float>(), 6.f);
  expect_equal(x(Slice(3, None), Slice(2, None)).item<int>(), 11);
}
