#include <fulgurite/fulgurite.h>

#include "support/test.h"

using namespace fulgurite;

// Short programs of every day: steps of a training, and measures of it.

namespace {
std::vector<float> floats(const Tensor& x) { return x.detach().to(Dtype::f32).contiguous().to_vector<float>(); }
}  // namespace

TEST("everyday: gradients accumulate over several batches") {
  nn::Linear model(2, 1);
  const Tensor x = rand({4, 2}), y = rand({4, 1});
  nn::mse_loss(model(x), y).backward();
  const auto whole = floats(model.weight.grad());
  model.weight.set_grad({});
  for (int64_t i = 0; i < 2; ++i) {
    const Slice half(2 * i, 2 * i + 2);
    (nn::mse_loss(model(x(half)), y(half)) / 2).backward();
  }
  expect_near(floats(model.weight.grad()), whole);
}

TEST("everyday: gradients are clipped by norm and by value") {
  Tensor w = zeros({2}).requires_grad_();
  w.set_grad(tensor({3.0, 4.0}));
  expect_near(optim::clip_grad_norm_({w}, 1.0).item<double>(), 5);
  expect_near(floats(w.grad()), {0.6, 0.8}, 1e-5);
  optim::clip_grad_value_({w}, 0.5);
  expect_near(floats(w.grad()), {0.5, 0.5});
}

TEST("everyday: parts of a model have rates of their own") {
  nn::Linear a(1, 1), b(1, 1);
  optim::SGD optimizer({optim::ParameterGroup<optim::SGDOptions>{nn::parameters(a), {.lr = 0.1}},
                        optim::ParameterGroup<optim::SGDOptions>{nn::parameters(b), {.lr = 0.0}}});
  const float before = b.weight.item<float>();
  sum(b(a(ones({1, 1})))).backward();
  optimizer.step();
  expect_equal(b.weight.item<float>(), before);
  optimizer.set_learning_rate(1, 0.5);
  expect_near(optimizer.learning_rate(1), 0.5);
  optimizer.zero_grad();
  expect(!a.weight.grad().defined());
}

TEST("everyday: modes without gradients") {
  const Tensor x = ones({2}).requires_grad_();
  {
    const NoGrad no_grad;
    expect(!(x * 2).requires_grad());
  }
  expect((x * 2).requires_grad());
  expect(!(x * 2).detach().requires_grad());
  const auto gradients = autograd::grad(sum(x * x), x);
  expect_equal(floats(gradients[0]), std::vector<float>{2, 2});
  expect_error([&] { x.detach().backward(); }, "");
}

TEST("everyday: variables that are named like namespaces of the library") {
  const std::vector<double> data{1, 2};  // a local name hides fulgurite::data
  const Tensor nn_input = tensor(data);
  struct Holder {
    Tensor data;
    int optim = 1;
  } holder{nn_input};
  const auto take = [](const Tensor& data) { return sum(data).item<double>(); };
  expect_equal(take(holder.data), 3.0);
  data::TensorDataset dataset(nn_input);  // before "::" only namespaces and types are looked up
  expect_equal(dataset.size(), 2);
}

TEST("everyday: accuracies") {
  const Tensor scores = tensor({{0.1, 0.7, 0.2}, {0.5, 0.3, 0.2}, {0.2, 0.3, 0.5}, {0.3, 0.4, 0.3}});
  const Tensor classes = tensor({1, 0, 1, 2});
  expect_near(metrics::accuracy(scores, classes), 0.5);
  expect_near(metrics::accuracy(tensor({1, 0, 2}), tensor({1, 1, 2})), 2.0 / 3);
  expect_near(metrics::top_k_accuracy(scores, classes, 2), 0.75);
  expect_error([&] { metrics::top_k_accuracy(scores, classes, 4); }, "k is 4");
  expect_error([&] { metrics::accuracy(scores, tensor({1})); }, "classes must be integers [4]");
}

TEST("everyday: areas under curves and errors of regressions") {
  // scikit-learn's example of roc_auc_score, and one with ties.
  expect_near(metrics::roc_auc(tensor({0.1, 0.4, 0.35, 0.8}), tensor({0, 0, 1, 1})), 0.75);
  expect_near(metrics::roc_auc(tensor({0.5, 0.5, 0.5}), tensor({0, 1, 1})), 0.5);
  expect_error([] { metrics::roc_auc(tensor({0.5}), tensor({1})); }, "both classes");
  const Tensor predicted = tensor({2.5, 0.0, 2.0, 8.0}), truth = tensor({3.0, -0.5, 2.0, 7.0});
  expect_near(metrics::mean_squared_error(predicted, truth), 0.375);
  expect_near(metrics::mean_absolute_error(predicted, truth), 0.5);
  expect_near(metrics::r2_score(predicted, truth), 0.9486081370449679);
}

TEST("everyday: a confusion matrix over batches") {
  metrics::ConfusionMatrix matrix(3);
  matrix.update(tensor({0, 0, 2}), tensor({2, 0, 2}));
  matrix.update(tensor({0, 2, 2}), tensor({0, 2, 1}));
  expect_equal(matrix.matrix().to_vector<int64_t>(), std::vector<int64_t>{2, 0, 0, 0, 0, 1, 1, 0, 2});
  expect_equal(matrix.samples(), 6);
  expect_near(matrix.accuracy(), 4.0 / 6);
  expect_near(matrix.precision(), {2.0 / 3, 0, 2.0 / 3});
  expect_near(matrix.recall(), {1, 0, 2.0 / 3});
  expect_near(matrix.f1(), {0.8, 0, 2.0 / 3});
  expect_near(matrix.f1(metrics::Average::macro), (0.8 + 2.0 / 3) / 3);
  expect_near(matrix.f1(metrics::Average::micro), 4.0 / 6);
  expect_near(matrix.intersection_over_union(), {2.0 / 3, 0, 0.5});
  expect_error([&] { matrix.update(tensor({3}), tensor({0})); }, "class 3 is out of range");
  expect_equal(matrix.samples(), 6);
  matrix.reset();
  expect_equal(matrix.accuracy(), 0.0);
}

TEST("everyday: running means and perplexity") {
  metrics::Mean loss;
  loss.update(2, 3);
  loss.update(6);
  expect_near(loss.value(), 3);
  loss.reset();
  expect(std::isnan(loss.value()));
  metrics::Perplexity perplexity;
  perplexity.update(std::log(4.0), 10);
  perplexity.update(std::log(1.0), 10);
  expect_near(perplexity.value(), 2);
}

TEST("everyday: a loop over batches of a dataset") {
  const Tensor x = arange(10, {.dtype = Dtype::f32}).reshape({10, 1}), y = x * 2;
  data::DataLoader loader(data::TensorDataset(x, y), {.batch_size = 4, .shuffle = true, .seed = 3});
  int64_t seen = 0;
  float total = 0;
  for (auto& [inputs, targets] : loader) {
    seen += inputs.size(0);
    total += sum(targets).item<float>();
  }
  expect_equal(seen, 10);
  expect_equal(total, 90.f);
}

TEST("everyday: the best model is kept and training stops early") {
  manual_seed(1);
  nn::Linear model(1, 1), best;
  optim::SGD optimizer(nn::parameters(model), {.lr = 0.1});
  const Tensor x = linspace(-1, 1, 16).reshape({16, 1}), y = 3 * x - 1;
  double lowest = INFINITY;
  int without_gain = 0;
  for (int step = 0; step < 500 && without_gain < 5; ++step) {
    optimizer.zero_grad();
    const Tensor loss = nn::mse_loss(model(x), y);
    loss.backward();
    optimizer.step();
    if (loss.item<double>() < lowest - 1e-6) {
      lowest = loss.item<double>();
      best = nn::clone(model);
      without_gain = 0;
    } else {
      ++without_gain;
    }
  }
  expect_less(lowest, 1e-3);
  expect_near(best.weight.item<double>(), 3, 0.1);
}
