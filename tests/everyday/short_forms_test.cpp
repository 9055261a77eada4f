#include <cmath>
#include <sstream>
#include <vector>

#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Short forms of calls that users of PyTorch, NumPy and scikit-learn write.

TEST("everyday: shifts of bits") {
  Tensor x = tensor({1, 5, -8});
  expect_equal((x << 1).to_vector<int64_t>(), std::vector<int64_t>{2, 10, -16});
  expect_equal((x >> tensor({0, 1, 2})).to_vector<int64_t>(), std::vector<int64_t>{1, 2, -2});
  x <<= 2;
  x >>= 1;
  expect_equal(x.to_vector<int64_t>(), std::vector<int64_t>{2, 10, -16});
  expect_error([] { ones({2}) << 1; }, "bitwise_left_shift(cpu f32[2], 1): needs integers or booleans, not f32");
}

TEST("everyday: a checkpointed call, and functions of layers by LibTorch's namespace") {
  namespace F = nn::functional;
  const Tensor x = tensor({1.f, -2.f}).requires_grad_();
  const Tensor y = checkpoint([](Tensor a, Tensor b) { return F::relu(a * b); }, x, x);
  expect_equal(y.detach().to_vector<float>(), std::vector<float>{1, 4});
  sum(y).backward();
  expect_equal(x.grad().to_vector<float>(), std::vector<float>{2, -4});
}

TEST("everyday: distributions of probabilities and logits by name") {
  using namespace distributions;
  const Tensor logits = tensor({0.f, 1.f});
  expect(allclose(Bernoulli({.logits = logits}).probs(), sigmoid(logits)));
  expect(allclose(Bernoulli({.probs = sigmoid(logits)}).logits(), logits));
  expect(allclose(Categorical({.logits = logits}).probs(), softmax(logits, 0)));
  expect(allclose(Categorical({.probs = exp(logits)}).probs(), softmax(logits, 0)));
  expect(allclose(OneHotCategorical({.probs = exp(logits)}).probs(), softmax(logits, 0)));
  expect_error([] { Categorical({.probs = 0.5}); }, "distributions::Categorical: probs must be a tensor");
}

TEST("everyday: precision, recall and accuracy of a whole set and of batches") {
  using metrics::Average;
  const Tensor predicted = tensor({0, 1, 1, 0}), classes = tensor({0, 1, 0, 0});
  expect_equal(metrics::precision(predicted, classes, Average::binary), 0.5);
  expect_equal(metrics::recall(predicted, classes, Average::binary), 1.0);
  expect(std::abs(metrics::f1_score(predicted, classes, Average::binary) - 2.0 / 3) < 1e-12);
  expect(std::abs(metrics::f1_score(predicted, classes) - (0.8 + 2.0 / 3) / 2) < 1e-12);
  metrics::Accuracy accuracy;
  accuracy.update(tensor({{0.1, 0.9}}), tensor({1}));
  accuracy.update(predicted, classes);
  expect(std::abs(accuracy.value() - 0.8) < 1e-12);
  expect_error([] { metrics::recall(tensor({2}), tensor({0}), Average::binary); },
               "metrics: Average::binary needs two classes, there are 3");
}

TEST("everyday: elements put at places in one dimension") {
  Tensor x = zeros({2, 2});
  x.t().put_(tensor({1, 2}), tensor({5.f, 7.f}));
  expect_equal(x.reshape({-1}).to_vector<float>(), std::vector<float>{0, 7, 5, 0});
  const Tensor twice = put(x, tensor({0, 0, -1}), tensor({1.f, 2.f, 3.f}), true);
  expect_equal(twice.reshape({-1}).to_vector<float>(), std::vector<float>{3, 7, 5, 3});
  expect_error([&] { x.put_(tensor({4}), tensor({1.f})); },
               "index_put(cpu f32[4], [cpu i64[1]], cpu f32[1]): an index tensor holds 4, which is out of range for a "
               "dimension of size 4");
  expect_error([&] { x.put_(tensor({0}), tensor({1.f, 2.f})); }, "put: there are 1 indices and 2 elements");
  expect_error([&] { x.put_(tensor({0}), tensor({1})); }, "put: source must be f32, not i64");
}

TEST("everyday: models, tensors and optimizers in streams") {
  std::stringstream stream;
  nn::Linear layer(2, 3), other(2, 3);
  save(layer, stream);
  load(other, stream);
  expect(equal(layer.weight, other.weight));
  std::stringstream tensors("", std::ios::in | std::ios::out | std::ios::binary);
  save(std::vector<Tensor>{tensor({1, 2}), tensor({true})}, tensors);
  std::vector<Tensor> back;
  load(back, tensors);
  expect_equal(back[0].to_vector<int64_t>(), std::vector<int64_t>{1, 2});
  Tensor one;
  std::stringstream text("not a file of tensors");
  expect_error(
      [&] { load(one, text); },
      "the memory given is not a whole safetensors file: the header's length, 7594793423135338350, is more than "
      "the format allows (100000000)");
  std::stringstream closed;
  closed.setstate(std::ios::badbit);
  expect_error([&] { save(layer, closed); }, "save_safetensors(): writing into the stream failed");
}

TEST("everyday: the window of Kaiser, one element as a double, and rates by PyTorch's name") {
  // torch.kaiser_window(4, False, 8.0) and torch.kaiser_window(3)
  const Tensor window = kaiser_window(4, false, 8, {.dtype = Dtype::f64});
  expect_near(window.to(Dtype::f32).to_vector<float>(), {0.0023388f, 0.652478f, 0.652478f, 0.0023388f}, 1e-5);
  expect_near(kaiser_window(3).to_vector<float>(), {5.2773e-05f, 0.518845f, 0.518845f}, 1e-5);
  expect_equal(kaiser_window(1, false).item(), 1.0);
  const double mean_of = mean(tensor({1.f, 2.f})).item();
  expect_equal(mean_of, 1.5);
  optim::SGD optimizer(std::vector<Tensor>{ones({1}).requires_grad_()}, {.lr = 0.5});
  optimizer.set_lr(0.25);
  expect_equal(optimizer.lr(), 0.25);
}

TEST("everyday: members by the names of functions") {
  const auto numbers = [](const Tensor& x) { return x.to(Dtype::f64).contiguous().reshape({-1}).to_vector<double>(); };
  using Numbers = std::vector<double>;
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
  expect_equal(numbers(x.adjoint()), Numbers{1, 3, 2, 4});
  expect(tensor(2).is_nonzero());
  expect_error([&] { x.is_nonzero(); }, "is_nonzero(): one element is needed, there are 4");
  expect_error(
      [] { Tensor().is_nonzero(); },
      "ne(None, 0): input is an undefined tensor: default-constructed, moved from, or a grad() before backward()");
  expect_equal(numbers(x.as_strided({2}, {3})), Numbers{1, 4});
  expect_equal(numbers(tensor({1, 2}).diagflat()), Numbers{1, 0, 0, 2});
  expect_equal(numbers(x.diagonal_scatter(zeros({2}))), Numbers{0, 2, 3, 0});
  Tensor whole = tensor({4, 6});
  expect_equal(numbers(whole.lcm(tensor({6, 4}))), Numbers{12, 12});
  whole.gcd_(tensor({6, 4}));
  expect_equal(numbers(whole), Numbers{2, 2});
  Tensor y = x.clone();
  y.ldexp_(tensor({1.f, 2.f}));
  expect_equal(numbers(y), Numbers{2, 8, 6, 16});
  y.sgn_();
  expect_equal(numbers(y), Numbers{1, 1, 1, 1});
  y.addr_(tensor({1.f, 0.f}), tensor({1.f, 2.f}));
  expect_equal(numbers(y), Numbers{2, 3, 1, 1});
  y.index_reduce_(0, tensor({0}), tensor({{5.f, 1.f}}), "amax");
  expect_equal(numbers(y), Numbers{5, 3, 1, 1});
}

TEST("everyday: members that give several results") {
  const Tensor x = tensor({3, 1, 3, 3});
  const auto [values, places, counts] = x.unique();
  expect_equal(values.to_vector<int64_t>(), std::vector<int64_t>{1, 3});
  expect_equal(counts.to_vector<int64_t>(), std::vector<int64_t>{1, 3});
  expect_equal(std::get<2>(x.unique_consecutive()).to_vector<int64_t>(), std::vector<int64_t>{1, 1, 2});
  const auto [mantissa, exponent] = tensor({8.f}).frexp();
  expect_equal(mantissa.item<float>(), 0.5f);
  expect_equal(exponent.item<int>(), 4);
  expect_equal(x.hsplit(2)[1].to_vector<int64_t>(), std::vector<int64_t>{3, 3});
  expect_equal(x.view({4, 1}).vsplit({1, 3}).size(), size_t{3});
}
